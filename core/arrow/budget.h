/*
 * budget.h - limits the memory for reading a file; blocks are buffers that count.
 *
 * Sizes come from untrusted files, so each allocation takes from a budget first; beyond
 * it is ERR_LIMIT, and nothing is allocated. A block is a buffer that belongs to a
 * budget; BLOCK_SLACK bytes after its capacity may be read and written (fast copies
 * overrun), with undefined contents. Thread-safe.
 */
#ifndef ARROW_BUDGET_H
#define ARROW_BUDGET_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum { BLOCK_SLACK = 64 };

struct budget {
	size_t limit, used, peak; /* the last two are atomic */
};

MUST_CHECK int budget_take(struct budget *b, size_t bytes, struct error *err);
void budget_give(struct budget *b, size_t bytes); /* back */
size_t budget_left(const struct budget *b);

struct block {
	uint8_t *data;
	size_t cap;
	struct budget *budget; /* whose bytes these are; NULL: an empty block */
};

/* Make room for n * size bytes in all, keeping the contents; grows by at least a half. */
MUST_CHECK int block_reserve(struct block *b, struct budget *budget, uint64_t n,
			     size_t size, struct error *err);
void block_free(struct block *b); /* an empty one is fine */

/* n zeroed elements that live as long as the arena, counted. */
MUST_CHECK int budget_alloc(void **ret, struct budget *budget, struct arena *arena,
			    uint64_t n, size_t size, struct error *err);

#endif
