/*
 * cost.h - the work of a function, counted: the same in every run.
 *
 * Counted are the branches that this thread executed in the rooms (clang's
 * -fsanitize-coverage=trace-pc-guard: every unit test is compiled so), the elements that
 * cJSON goes over for them, and every 16 bytes that libc reads or copies.
 *
 *     static uint64_t cost_of_merge(const void *row, size_t n)
 *     {
 *             ... input with n elements
 *             start = cost_now();
 *             merge(input);
 *             return cost_now() - start;
 *     }
 *     assert_true(cost_is_linear("merge of env", cost_of_merge, NULL, 1000));
 */
#ifndef TESTS_UNIT_COST_H
#define TESTS_UNIT_COST_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

uint64_t cost_now(void);

/*
 * Is the cost of 16 n at most 32 times the cost of n? n log n is, for n from 16; a part that
 * is n * n is not, where it is a tenth of the whole cost of n. Prints what is not.
 */
bool cost_is_linear(const char *what, uint64_t (*cost)(const void *ctx, size_t n),
		    const void *ctx, size_t n);

/*
 * A document from JSON, where ' stands for ", and each <...> is repeated n times, separated
 * by commas, with # for the number of the element, from 0, and ^ for the numbers downwards.
 */
cJSON *cost_doc(const char *text, size_t n);

#endif
