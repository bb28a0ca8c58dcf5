/* Counts the memory that a file may take: budget.h. */
#include "arrow/budget.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

static int take(struct budget *budget, size_t bytes, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	if (bytes > budget->limit - budget->used)
		return error_set(err, ERR_LIMIT,
				 "needs %s more memory, beyond the limit of %s",
				 size_text(&arena, (int64_t)bytes),
				 size_text(&arena, (int64_t)budget->limit));
	budget->used += bytes;
	if (budget->used > budget->peak)
		budget->peak = budget->used;
	return 0;
}

static int product(size_t *ret, uint64_t n, size_t size, struct error *err)
{
	if (__builtin_mul_overflow(n, size, ret) || *ret > INT64_MAX / 4)
		return error_set(err, ERR_LIMIT,
				 "%llu elements of %zu bytes are too many",
				 (unsigned long long)n, size);
	return 0;
}

int block_reserve(struct block *b, struct budget *budget, uint64_t n, size_t size,
		  struct error *err)
{
	size_t want, cap, left = budget->limit - budget->used;

	if (product(&want, n, size, err))
		return -1;
	if (want <= b->cap && b->data)
		return 0;
	cap = want;
	if (b->cap && cap < b->cap + b->cap / 2 && b->cap / 2 <= left)
		cap = b->cap + b->cap / 2;
	if (take(budget, cap - b->cap, err))
		return -1;
	b->data = xreallocarray(b->data, 1, cap + BLOCK_SLACK);
	b->cap = cap;
	b->budget = budget;
	return 0;
}

void block_free(struct block *b)
{
	free(b->data);
	if (b->budget)
		b->budget->used -= b->cap;
	*b = (struct block){ 0 };
}

int budget_alloc(void **ret, struct budget *budget, struct arena *arena, uint64_t n,
		 size_t size, struct error *err)
{
	size_t bytes;

	if (product(&bytes, n, size, err) || take(budget, bytes, err))
		return -1;
	*ret = arena_alloc(arena, bytes);
	return 0;
}
