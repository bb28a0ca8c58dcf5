/*
 * parallel.h - run a function for many indexes in several threads.
 */
#ifndef CACHE_PARALLEL_H
#define CACHE_PARALLEL_H

#include <stddef.h>

#include "base/error.h"

enum { PARALLEL_MAX = 16 };

/*
 * Call work(ctx, i) for all i < n, started in the order of i, in `threads` threads (at
 * most PARALLEL_MAX) including the caller's. After a failure no more calls are started;
 * the error is that of the lowest failed i.
 */
MUST_CHECK int parallel_run(size_t threads, size_t n,
			    int (*work)(void *ctx, size_t i, struct error *err),
			    void *ctx, struct error *err);

#endif
