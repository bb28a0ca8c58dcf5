/*
 * journal.h - an append-only log of changes; every acknowledged change is on disk.
 *
 *     DIR/lock       held (flock) by the one server of this directory
 *     DIR/objects    "kftrainer objects 1\n", then records: length (32 bits, little-endian),
 *                    CRC-32C of what follows, and "VERSION KEY\nOBJECT"; no object: deleted
 *
 * After a sync, a mark follows: a record whose key is "namespaces//@N": the first N bytes
 * are on disk. What a crash tore behind that (the disk may have written a later record
 * and not an earlier one) is cut off and reported. Damage before it is ERR_FORMAT: no
 * acknowledged change is dropped silently. storage.c rewrites a log of which most is
 * outdated.
 */
#ifndef APISERVER_JOURNAL_H
#define APISERVER_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct journal;

struct journal_record {
	int64_t version;
	const char *key;
	const char *text; /* NULL: deleted */
	size_t len;
};
struct journal_report {
	size_t records;
	int64_t cut;     /* bytes that were not on disk yet when the last server died */
	int64_t version; /* the largest */
};

/*
 * Can this version read the directory's log, if there is one? Errors as journal_open().
 * Nothing is written.
 */
MUST_CHECK int journal_check(const char *dir, struct error *err);
/*
 * Open or create the log and pass each record to on_record(), from the start. ERR_EXISTS:
 * another server uses the directory. ERR_FORMAT: not a log, or corrupt; ERR_IO: also of a
 * newer version. The directory is created (0700).
 */
MUST_CHECK int journal_open(struct journal **ret, const char *dir,
			    int (*on_record)(void *ctx, const struct journal_record *r,
					     struct error *err),
			    void *ctx, struct error *err);
void journal_close(struct journal *j);
const struct journal_report *journal_report(const struct journal *j);

/*
 * Append a record; journal_sync() makes it durable. ERR_IO: nothing of the record remains
 * in the log. After a failed journal_sync() all calls fail with ERR_IO.
 */
MUST_CHECK int journal_add(struct journal *j, const struct journal_record *r,
			   struct error *err);
/* Make everything added before durable; concurrent callers share one fsync. */
MUST_CHECK int journal_sync(struct journal *j, struct error *err);
/* Mark what is durable, if no mark does. Not while journal_add() runs. */
void journal_mark(struct journal *j);

int64_t journal_size(const struct journal *j);
/* Replace the log atomically by one of these records. No other call may run meanwhile. */
MUST_CHECK int journal_rewrite(struct journal *j,
			       bool (*next)(void *ctx, struct journal_record *ret),
			       void *ctx, struct error *err);

/*
 * Parse a log in memory; *ret_good is the length of its complete records up to the first
 * that is not. Errors as journal_open(). For fuzzing and tests.
 */
MUST_CHECK int journal_read(const void *data, size_t len,
			    int (*on_record)(void *ctx, const struct journal_record *r,
					     struct error *err),
			    void *ctx, size_t *ret_good, struct error *err);

#endif
