/*
 * ledger.h - what has been fetched into a target: .kftrainer/manifest.jsonl.
 *
 * A line of JSON for each file: path, size, time of change, and which contents it has
 * (sum, or the place's etag). While files are fetched, lines are appended to
 * .kftrainer/fetched.jsonl; at the end all become the manifest in one step, with a
 * first line that says where they are from, as each run's have. Read back, both are the work of a
 * stranger: what is no such line is passed over.
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

/* `source`: what is fetched, without its revision; "" for what nothing is the same as. */
MUST_CHECK int ledger_open(struct ledger *l, const struct target *t, const char *source,
			   struct error *err);
void ledger_close(struct ledger *l);

/* Is the file that `st` shows the one that was fetched, with these contents? */
bool ledger_has(const struct ledger *l, const struct store_object *o,
		const struct stat *st);

/*
 * Where the place gives an object no name for its contents before it is asked: that
 * of the file there (an ETag, a Last-Modified), if it is the one that was fetched.
 */
const char *ledger_validator(const struct ledger *l, const struct store_object *o,
			     const struct stat *st);

/* It is there now. From any thread. */
MUST_CHECK int ledger_add(struct ledger *l, const struct store_object *o,
			  const struct stat *st, struct error *err);

/*
 * Files that earlier runs have fetched of the same source, that are as they were left, and
 * that the listing does not have: remove them, and folders that get empty. *ret_n: how many.
 */
MUST_CHECK int ledger_drop_stale(struct ledger *l, const struct store_listing *list,
				 size_t *ret_n, struct error *err);

/* All of the listing is there: write the manifest, forget the rest. */
MUST_CHECK int ledger_finish(struct ledger *l, const struct store_listing *list,
			     const char *uri, struct error *err);

/* "sha256:..." or the etag: which contents; NULL: the place does not say. */
const char *ledger_contents(struct arena *arena, const struct store_object *o);

#endif
