/* yaml_doc.h - documents as YAML, and how they are compared. */
#ifndef TESTS_UNIT_TRAINER_YAML_DOC_H
#define TESTS_UNIT_TRAINER_YAML_DOC_H

#include "api/field.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "tests/unit/unit.h"

static inline cJSON *doc(const char *yaml)
{
	struct error err = { 0 };
	cleanup_json cJSON *docs = NULL;

	if (yaml_parse(&docs, yaml, strlen(yaml), &err))
		fail_msg("%s: %s", yaml, err.msg);
	return cJSON_DetachItemFromArray(docs, 0);
}

static inline void assert_doc(const cJSON *have, const char *yaml)
{
	cleanup_json cJSON *want = doc(yaml);

	if (!json_equal(have, want)) {
		cleanup_free char *text = have ? json_text(have) : xstrdup("(absent)");

		fail_msg("wanted %s, got %s", yaml, text);
	}
}

/* All errors, a line each; releases them. */
static inline char *errors_text(struct field_errors *errs)
{
	struct buf out = { .max = 65536 };

	buf_adds(&out, "");
	for (size_t i = 0; i < errs->n; i++) {
		field_error_print(&out, &errs->list[i]);
		buf_adds(&out, "\n");
	}
	field_errors_release(errs);
	return (char *)out.data;
}

#endif
