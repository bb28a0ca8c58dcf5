#include "base/map.h"
#include "base/xmalloc.h"
#include "tests/unit/base/base_test.h"

TEST(test_keeps_the_order_of_arrival)
{
	cleanup_map struct map m = { 0 };
	char order[16] = "";
	int one = 1, two = 2;

	assert_null(map_get(&m, "a"));
	assert_null(map_del(&m, "a"));
	assert_null(map_put(&m, "b", &one));
	assert_null(map_put(&m, "a", &one));
	assert_null(map_put(&m, "c", &one));
	assert_ptr_equal(map_put(&m, "b", &two), &one);
	assert_ptr_equal(map_get(&m, "b"), &two);
	assert_ptr_equal(map_del(&m, "a"), &one);
	assert_null(map_get(&m, "a"));
	map_put(&m, "a", &two);
	map_each(e, &m)
		order[strlen(order)] = *e->key;
	assert_string_equal(order, "bca");
	assert_int_equal(m.n, 3);
}

TEST(test_deleting_while_walking)
{
	cleanup_map struct map m = { 0 };
	int value = 0, met = 0;
	char key[16];

	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "%d", i);
		map_put(&m, key, &value);
	}
	map_each(e, &m) {
		met++;
		map_del(&m, (char[]){ e->key[0], e->key[1], 0 });
	}
	assert_int_equal(met, 100);
	assert_int_equal(m.n, 0);
	assert_null(map_next(&m, NULL));
}

/* Against a plain array, over many puts and deletes of the same keys. */
TEST(test_like_an_array)
{
	enum { KEYS = 500, STEPS = 50000 };
	static void *want[KEYS];
	cleanup_map struct map m = { 0 };
	unsigned seed = 1;
	size_t n = 0;
	char key[16];

	for (int i = 0; i < STEPS; i++) {
		unsigned k = (seed = seed * 1103515245 + 12345) >> 16 & 0x7fff;
		void *value = &want[k / 3 % KEYS];

		snprintf(key, sizeof(key), "key-%u", k % KEYS);
		if (k & 1)
			assert_ptr_equal(map_del(&m, key), want[k % KEYS]);
		else
			assert_ptr_equal(map_put(&m, key, value), want[k % KEYS]);
		want[k % KEYS] = k & 1 ? NULL : value;
	}
	for (unsigned k = 0; k < KEYS; k++) {
		snprintf(key, sizeof(key), "key-%u", k);
		assert_ptr_equal(map_get(&m, key), want[k]);
		n += want[k] != NULL;
	}
	assert_int_equal(m.n, n);
	assert_true(m.cap <= 2048);
}

TEST(test_release_frees_values)
{
	struct map m = { 0 };

	for (int i = 0; i < 20; i++)
		map_put(&m, (char[]){ 'a' + (char)i, 0 }, xmalloc(10));
	free(map_del(&m, "c"));
	map_release(&m, free);
	assert_null(map_get(&m, "a"));
	map_release(&m, free);
}

RUN_TESTS(NULL, NULL)
