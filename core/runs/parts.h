/*
 * parts.h - a text that grows, in a place where files cannot grow (docs/runs.md).
 *
 * The last part is sent again, longer, until it has PARTS_FULL bytes; then the next
 * begins. Adding never blocks and never waits for the place; beyond PARTS_MOST bytes that
 * are not sent, text is left out, and counted.
 */
#ifndef RUNS_PARTS_H
#define RUNS_PARTS_H

#include <pthread.h>

#include "runs/place.h"

enum { PARTS_FULL = 1024 * 1024, PARTS_MOST = 8 * 1024 * 1024 };

struct parts {
	pthread_mutex_t lock;
	const char *stem, *ending; /* "logs/0", ".log.zst" */
	bool packed;               /* in zstd frames */
	struct buf raw, whole;     /* not yet, and in the last part */
	size_t sent;               /* bytes of `whole` */
	unsigned n;                /* number of the last part */
	int64_t left_out;
};

/* Strings remain the caller's. */
void parts_init(struct parts *p, const char *stem, const char *ending, bool packed);
void parts_release(struct parts *p);
void parts_add(struct parts *p, const void *data, size_t len); /* any thread */
bool parts_is_sent(struct parts *p);
/* Send new output to `dir` of the place. One thread. */
MUST_CHECK int parts_send(struct parts *p, struct run_place *place, const char *dir,
			  struct error *err);

#endif
