/*
 * base_test.h - what the tests of base/ share: cmocka in the order it wants, and
 * a message for a failed row.
 */
#ifndef BASE_TEST_H
#define BASE_TEST_H

#include "base/cleanup.h"
#include "base/json.h"
#include "tests/unit/unit.h"

/* Fails naming the row when got and want differ; NULL is equal to NULL. */
static inline void check_text(const char *row, const char *got, const char *want)
{
	if (got != want && (!got || !want || strcmp(got, want)))
		fail_msg("%s: got %s, want %s", row, got ? got : "NULL",
			 want ? want : "NULL");
}

static inline void check_int(const char *row, long long got, long long want)
{
	if (got != want)
		fail_msg("%s: got %lld, want %lld", row, got, want);
}

static inline cJSON *doc_of(const char *text)
{
	struct error err = { 0 };
	cJSON *ret = NULL;

	if (json_parse(&ret, text, strlen(text), &err))
		fail_msg("%s: %s", text, err.msg);
	return ret;
}

#endif
