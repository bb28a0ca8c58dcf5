/*
 * schema_fixture.h - the schema of the repository, for tests that need one.
 *
 * `group_setup` as cmocka's group setup leaves it in *state. Objects are written
 * as YAML; with `kind` and `body`, as what follows apiVersion, kind and a name.
 */
#ifndef TESTS_SCHEMA_FIXTURE_H
#define TESTS_SCHEMA_FIXTURE_H

#include "api/schema.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/yaml.h"
#include "tests/unit/unit.h"

#define FIXTURE __attribute__((unused)) static

FIXTURE void read_file(struct buf *out, const char *path)
{
	struct error err = { 0 };

	if (file_read(out, path, &err))
		fail_msg("%s", err.msg);
}

FIXTURE int group_setup(void **state)
{
	cleanup_buf struct buf text = { .max = 1 << 20 };
	struct error err = { 0 };
	struct schema *schema = NULL;

	read_file(&text, "core/assets/schema.yaml");
	if (schema_load(&schema, text.data, text.len, &err))
		fail_msg("%s", err.msg);
	*state = schema;
	return 0;
}

FIXTURE int group_teardown(void **state)
{
	schema_free(*state);
	return 0;
}

FIXTURE cJSON *yaml_doc(const char *text)
{
	cleanup_json cJSON *docs = NULL;
	struct error err = { 0 };

	if (yaml_parse(&docs, text, strlen(text), &err))
		fail_msg("%s: %s", text, err.msg);
	return cJSON_DetachItemFromArray(docs, 0);
}

FIXTURE cJSON *object(const char *kind, const char *body)
{
	struct arena arena = { 0 };
	cJSON *ret = yaml_doc(
		arena_printf(&arena,
			     "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: %s\n"
			     "metadata: {name: x}\n%s\n",
			     kind, body));

	arena_clear(&arena);
	return ret;
}

/* All errors, a line each. */
FIXTURE const char *errors_text(struct buf *out, const struct field_errors *errs)
{
	buf_clear(out);
	for (size_t i = 0; i < errs->n; i++) {
		field_error_print(out, &errs->list[i]);
		buf_adds(out, "\n");
	}
	return out->data ? (const char *)out->data : "";
}

#endif
