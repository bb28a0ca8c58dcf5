/* Counts the memory that a file may take: budget.h. */
#include "arrow/budget.h"

#include "base/cleanup.h"
#include "base/large.h"
#include "base/str.h"

size_t budget_left(const struct budget *b)
{
	return b->limit - __atomic_load_n(&b->used, __ATOMIC_RELAXED);
}

void budget_give(struct budget *b, size_t bytes)
{
	__atomic_sub_fetch(&b->used, bytes, __ATOMIC_RELAXED);
}

static void note_peak(struct budget *b, size_t used)
{
	size_t peak = __atomic_load_n(&b->peak, __ATOMIC_RELAXED);

	while (used > peak &&
	       !__atomic_compare_exchange_n(&b->peak, &peak, used, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

int budget_take(struct budget *b, size_t bytes, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	size_t used = __atomic_load_n(&b->used, __ATOMIC_RELAXED);

	do {
		if (bytes > b->limit - used)
			return error_set(err, ERR_LIMIT,
					 "needs %s more memory, beyond the limit of %s",
					 str_size(&arena, (int64_t)bytes),
					 str_size(&arena, (int64_t)b->limit));
	} while (!__atomic_compare_exchange_n(&b->used, &used, used + bytes, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	note_peak(b, used + bytes);
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
	size_t want, cap, more, left = budget_left(budget);

	if (product(&want, n, size, err))
		return -1;
	if (want <= b->cap && b->data)
		return 0;
	cap = want;
	more = large_round(b->cap + b->cap / 2 + BLOCK_SLACK) - BLOCK_SLACK;
	if (b->cap && cap < more && more - b->cap <= left)
		cap = more;
	if (budget_take(budget, cap - b->cap, err))
		return -1;
	b->data = large_grow(b->data, b->data ? b->cap + BLOCK_SLACK : 0,
			     cap + BLOCK_SLACK);
	b->cap = cap;
	b->budget = budget;
	return 0;
}

void block_free(struct block *b)
{
	large_free(b->data, b->cap + BLOCK_SLACK);
	if (b->budget)
		budget_give(b->budget, b->cap);
	*b = (struct block){ 0 };
}

int budget_alloc(void **ret, struct budget *budget, struct arena *arena, uint64_t n,
		 size_t size, struct error *err)
{
	size_t bytes;

	if (product(&bytes, n, size, err) || budget_take(budget, bytes, err))
		return -1;
	*ret = arena_alloc(arena, bytes);
	return 0;
}
