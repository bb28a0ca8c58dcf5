/* What holds of grants.h: a grant ends, the oldest makes room, a repeated one lasts longer. */
#include "manager/grants.h"

#include "base/clock.h"
#include "tests/unit/base/base_test.h"

static bool has(struct grants *g, const char *key, const char *value)
{
	struct arena arena = { 0 };
	const char *found = grants_find(g, &arena, key);
	bool ret = value ? found && !strcmp(found, value) : !found;

	arena_clear(&arena);
	return ret;
}

static void test_grants(void **state)
{
	int64_t now = clock_ms();
	struct grants g;

	(void)state;
	grants_init(&g, 2, 1000 * 1000);
	assert_true(has(&g, "a", NULL));
	grants_add(&g, "a", "1", now);
	grants_add(&g, "b", "2", now);
	assert_true(has(&g, "a", "1"));
	grants_add(&g, "a", "3", now);
	grants_add(&g, "c", "", now); /* b is the oldest */
	assert_true(has(&g, "a", "3"));
	assert_true(has(&g, "b", NULL));
	assert_true(has(&g, "c", ""));
	grants_add(&g, "d", "4", now - 1000 * 1000); /* has expired */
	assert_true(has(&g, "d", NULL));
	grants_release(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_grants) };

	return cmocka_run_group_tests_name("grants", tests, NULL, NULL);
}
