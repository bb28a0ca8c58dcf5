/*
 * ledger.h - the record of what was fetched into a target: .kftrainer/manifest.jsonl.
 *
 * A line of JSON per file: path, size, time of change, contents (sum, or ETag). During a
 * run lines are appended to .kftrainer/fetched.jsonl; at the end all replace the manifest
 * in one step. A head line names the source of the lines after it. Both are untrusted
 * when they are read back: invalid lines are skipped.
 */
#ifndef STORE_LEDGER_H
#define STORE_LEDGER_H

#include <pthread.h>
#include <sys/stat.h>

#include "base/map.h"
#include "store/store.h"
#include "store/target.h"

struct ledger {
	struct arena arena;
	struct map files; /* path -> struct ledger_entry */
	pthread_mutex_t lock;
	const struct target *target;
	const char *source;
	int fd; /* of fetched.jsonl */
};

/* `source`: the URI without its revision, and the patterns; "" equals none. */
MUST_CHECK int ledger_open(struct ledger *l, const struct target *t, const char *source,
			   struct error *err);
void ledger_close(struct ledger *l);

/* Was the file of `st` fetched with these contents? */
bool ledger_has(const struct ledger *l, const struct store_object *o,
		const struct stat *st);

/*
 * If the listing has no validator for an object: that of the local file (ETag,
 * Last-Modified), if it is the one that was fetched.
 */
const char *ledger_validator(const struct ledger *l, const struct store_object *o,
			     const struct stat *st);

/* Record a file that is in place. From any thread. */
MUST_CHECK int ledger_add(struct ledger *l, const struct store_object *o,
			  const struct stat *st, struct error *err);

/*
 * Remove files that earlier runs fetched from the same source, that are unchanged and
 * that the listing no longer has, and directories that become empty. *ret_n: how many.
 */
MUST_CHECK int ledger_drop_stale(struct ledger *l, const struct store_listing *list,
				 size_t *ret_n, struct error *err);

/* The listing is complete: write the manifest, remove fetched.jsonl. */
MUST_CHECK int ledger_finish(struct ledger *l, const struct store_listing *list,
			     const char *uri, struct error *err);

#endif
