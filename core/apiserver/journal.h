/*
 * journal.h - what is acknowledged is on disk: an append-only log of changes.
 *
 *     DIR/lock       held (flock) by the one server of this directory
 *     DIR/objects    "kftrainer objects 1\n", then records: length (32 bits, little-endian),
 *                    CRC-32C of what follows, and "VERSION KEY\nOBJECT"; no object: deleted
 *
 * A torn tail (the process or the machine died while it was written) is cut and reported;
 * what is damaged further ahead is ERR_FORMAT, for nothing that was acknowledged may be
 * dropped in silence. When most of the log is history it is written anew.
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
	int64_t cut;     /* bytes of a torn tail */
	int64_t version; /* the largest */
};

/*
 * Each record from the start. ERR_EXISTS: another server has the directory. ERR_FORMAT: not
 * a log, of a newer version, or damaged. The directory is made (0700).
 */
MUST_CHECK int journal_open(struct journal **ret, const char *dir,
			    int (*on_record)(void *ctx, const struct journal_record *r,
					     struct error *err),
			    void *ctx, struct error *err);
void journal_close(struct journal *j);
const struct journal_report *journal_report(const struct journal *j);

/* Written, not yet on disk. ERR_IO: nothing of it remains, and none is taken after a failed sync. */
MUST_CHECK int journal_add(struct journal *j, const struct journal_record *r,
			   struct error *err);
/* All that was added before is on disk; callers at the same time share one fsync. */
MUST_CHECK int journal_sync(struct journal *j, struct error *err);

int64_t journal_size(const struct journal *j);
/* A new log of these records takes the place of the old; no other call meanwhile. */
MUST_CHECK int journal_rewrite(struct journal *j,
			       bool (*next)(void *ctx, struct journal_record *ret),
			       void *ctx, struct error *err);

/*
 * The records of a log as bytes: how many of them are whole, in *ret_good. ERR_FORMAT as
 * journal_open(). For tests with any bytes.
 */
MUST_CHECK int journal_read(const void *data, size_t len,
			    int (*on_record)(void *ctx, const struct journal_record *r,
					     struct error *err),
			    void *ctx, size_t *ret_good, struct error *err);

#endif
