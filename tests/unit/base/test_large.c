#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/large.h"
#include "tests/unit/unit.h"

enum { MB = 1024 * 1024 };

static void fill(uint8_t *p, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		p[i] = (uint8_t)(i * 7 + i / 4096);
}

static bool is_filled(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != (uint8_t)(i * 7 + i / 4096))
			return false;
	return true;
}

TEST(test_bytes_stay_while_it_grows)
{
	static const size_t sizes[] = { 1,          100,        LARGE - 1,
					LARGE,      LARGE + 1,  LARGE + 65536,
					5 * MB + 3, 5 * MB + 4, 16 * MB };
	uint8_t *p = NULL;
	size_t old = 0;

	for (size_t i = 0; i < N_ELEMENTS(sizes); i++) {
		p = large_grow(p, old, sizes[i]);
		assert_true(is_filled(p, old));
		fill(p, old, sizes[i]);
		old = sizes[i];
		if (old >= LARGE)
			assert_int_equal((uintptr_t)p % LARGE, 0);
	}
	large_free(p, old);
	large_free(NULL, 0);
	large_free(NULL, LARGE);
}

/* Neither it nor what was mapped to align it is left. */
TEST(test_nothing_stays_mapped)
{
	size_t size = 3 * LARGE + 5;
	uint8_t *p = large_grow(NULL, 0, LARGE), *old = p;

	fill(p, 0, LARGE);
	p = large_grow(p, LARGE, size);
	assert_true(p != old);
	assert_int_equal(msync(old, LARGE, MS_ASYNC), -1);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(msync(p, size, MS_ASYNC), 0);
	large_free(p, size);
	for (size_t at = 0; at < size; at += 65536) {
		assert_int_equal(msync(p + at, 1, MS_ASYNC), -1);
		assert_int_equal(errno, ENOMEM);
	}
}

TEST(test_round)
{
	assert_int_equal(large_round(0), 0);
	assert_int_equal(large_round(LARGE - 1), LARGE - 1);
	assert_int_equal(large_round(LARGE), LARGE);
	assert_int_equal(large_round(LARGE + 1), 2 * LARGE);
}

RUN_TESTS(NULL, NULL)
