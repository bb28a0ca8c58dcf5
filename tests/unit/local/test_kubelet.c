#include "podtest.h"

#include <stdlib.h>

bool no_namespaces;

static void test_one_command(void **state)
{
	struct podtest t = { 0 };
	const cJSON *c;

	(void)state;
	podtest_open(&t, NULL);
	assert_string_equal(podtest_run(&t, script(&t, "", "", "echo one; echo two >&2; printf three")),
			    "Succeeded");
	assert_lines(&t, "p/c: one\np/c: two\np/c: three\n");
	c = container_of(&t, "p", "c");
	assert_string_equal(json_str(c, "state", "terminated", "reason"), "Completed");
	assert_int_equal(json_int(c, -1, "state", "terminated", "exitCode"), 0);
	assert_true(t.status_calls >= 2);
	podtest_close(&t);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_command),
	};

	no_namespaces = argc > 1 && strcmp(argv[1], "none") == 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
