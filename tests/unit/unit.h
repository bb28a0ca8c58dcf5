/*
 * unit.h - cmocka, the headers that must come before it, N_ELEMENTS and EVENTUALLY.
 *
 *	TEST(test_name)
 *	{
 *		assert_int_equal(...);
 *	}
 *	...
 *	RUN_TESTS(group_setup, group_teardown)
 *
 * TEST() defines one test; `state` is cmocka's. RUN_TESTS() at the end of a file is its main(): it runs
 * the file's tests in their order, with at most one setup and one teardown for all (or NULL). A file whose
 * tests differ in that has cmocka's own array in place of both.
 */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"

/* The tests of this file, each at its number: __COUNTER__ counts from FIRST_TEST on. */
enum { FIRST_TEST = __COUNTER__ + 1, MAX_TESTS = 99 };
static struct CMUnitTest unit_tests[MAX_TESTS] __attribute__((unused));

#define TEST(name) ADD_TEST(name, __COUNTER__ - FIRST_TEST)
#define ADD_TEST(test, number)                                                  \
	static void test(void **state);                                         \
	static void __attribute__((constructor)) add_##test(void)               \
	{                                                                       \
		unit_tests[number] = (struct CMUnitTest)cmocka_unit_test(test); \
	}                                                                       \
	static void test(void **state)
#define RUN_TESTS(setup, teardown)                                                       \
	int main(void)                                                                   \
	{                                                                                \
		return _cmocka_run_group_tests(                                          \
			"tests", unit_tests, __COUNTER__ - FIRST_TEST, setup, teardown); \
	}

#ifndef PATIENCE_S
#define PATIENCE_S 60
#endif
/* Repeat `step` until the condition holds, for a minute; it is not evaluated again. */
#define UNTIL(condition, step)                                               \
	do {                                                                 \
		int64_t until_ = clock_ms() + PATIENCE_S * 1000;             \
                                                                             \
		while (!(condition)) {                                       \
			if (clock_ms() >= until_)                            \
				fail_msg("never came true: %s", #condition); \
			step;                                                \
		}                                                            \
	} while (0)
#define EVENTUALLY(condition) UNTIL(condition, clock_sleep_ms(5))

#endif
