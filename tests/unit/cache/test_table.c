#include "cache/table.h"
#include "tests/unit/unit.h"

/* Every row in one shard, in order; floor or ceil of n / world rows each. */
static void check_shards(int64_t n, int64_t world)
{
	int64_t next = 0;

	for (int64_t rank = 0; rank < world; rank++) {
		struct rows r = table_shard(n, rank, world);

		assert_int_equal(r.first, next);
		assert_in_range(r.end - r.first, n / world, n / world + (n % world > 0));
		next = r.end;
	}
	assert_int_equal(next, n);
}

TEST(test_shards)
{
	static const int64_t rows[] = { 0, 1, 7, 9, 63, 64, 65, 1000, 8000000 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		for (int64_t world = 1; world <= 64; world++)
			check_shards(rows[i], world);
	check_shards(INT64_MAX, 3);
}

RUN_TESTS(NULL, NULL)
