/*
 * outcome_test.h - outcomes and notes as text, a line each.
 */
#ifndef TESTS_UNIT_CLIENT_OUTCOME_TEST_H
#define TESTS_UNIT_CLIENT_OUTCOME_TEST_H

#include "api/meta.h"
#include "base/str.h"
#include "spec/reporter.h"
#include "tests/unit/kube/apiserver.h"

struct told {
	char text[4096];
};

static inline void told_add(struct told *t, const char *first, const char *second)
{
	size_t len = strlen(t->text);

	snprintf(t->text + len, sizeof(t->text) - len, "%s: %s\n", first, second);
}

static inline void told_object(void *ctx, const cJSON *obj, const char *outcome)
{
	cleanup_arena struct arena arena = { 0 };

	told_add(ctx, obj ? meta_title(&arena, obj) : "all", outcome);
}

static inline void told_note(void *ctx, const char *text)
{
	told_add(ctx, "note", text);
}

static inline struct outcomes told_outcomes(struct told *t)
{
	return (struct outcomes){ told_object, t, { told_note, t } };
}

static inline int64_t objects_of(struct apiserver *s, const char *plural)
{
	char call[100];
	cleanup_json cJSON *list = NULL;

	snprintf(call, sizeof(call), "{'op':'objects','plural':'%s'}", plural);
	list = apiserver_ctl(s, call);
	return cJSON_GetArraySize(json_get(list, "items"));
}

#endif
