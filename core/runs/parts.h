/*
 * parts.h - upload a growing text to a store whose objects cannot grow (docs/runs.md).
 *
 * The text is split into numbered objects. The last one is uploaded again, longer, until it
 * has PARTS_FULL bytes; then the next one begins. Text beyond PARTS_MAX_PENDING bytes that
 * are not uploaded yet is dropped.
 */
#ifndef RUNS_PARTS_H
#define RUNS_PARTS_H

#include <pthread.h>

#include "runs/rundir.h"

enum { PARTS_FULL = 1024 * 1024, PARTS_MAX_PENDING = 8 * 1024 * 1024 };

struct parts {
	pthread_mutex_t lock;
	const char *prefix, *suffix; /* of the names: "logs/0", ".log.zst" */
	bool packed;                 /* compress, in zstd frames */
	struct buf raw;              /* text that is not in `part` yet */
	struct buf part;             /* the contents of the last part */
	size_t sent;                 /* bytes of `part` that are uploaded */
	unsigned n;                  /* the number of the last part */
	int64_t dropped;             /* bytes, since parts_take_dropped() */
};

/* Strings remain the caller's. */
void parts_init(struct parts *p, const char *prefix, const char *suffix, bool packed);
void parts_release(struct parts *p);
/* Never blocks; from any thread. */
void parts_add(struct parts *p, const void *data, size_t len);
bool parts_is_sent(struct parts *p);
/* How many bytes were dropped since the last call. */
int64_t parts_take_dropped(struct parts *p);
/* Upload what is new to `dir` of the run directory. From one thread. */
MUST_CHECK int parts_send(struct parts *p, struct rundir *rundir, const char *dir,
			  struct error *err);

#endif
