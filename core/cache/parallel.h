/*
 * parallel.h - the same work for many things, in some threads.
 */
#ifndef CACHE_PARALLEL_H
#define CACHE_PARALLEL_H

#include <stddef.h>

#include "base/error.h"

enum { PARALLEL_MAX = 16 };

/*
 * Does work(ctx, i) for all i < n, in the order of i, in `threads` threads (PARALLEL_MAX
 * at most), the caller's among them. After a failure no more is begun; the error is that
 * of the least i.
 */
MUST_CHECK int in_parallel(size_t threads, size_t n,
			   int (*work)(void *ctx, size_t i, struct error *err), void *ctx,
			   struct error *err);

size_t parallel_cores(void); /* that this process may use */

#endif
