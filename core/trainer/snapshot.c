/* snapshot.c - write and read a TrainJob's copy of its runtime (trainer/snapshot.h). */
#include "trainer/snapshot.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/yaml.h"
#include "trainer/shape.h"
#include "trainer/trainjob.h"

#define KEY "runtime"

/* The API server's limit of a ConfigMap, less 4 KiB for its metadata. */
enum { SNAPSHOT_MAX = 1024 * 1024 - 4096 };

const char *snapshot_name(struct arena *arena, const cJSON *tj)
{
	return arena_printf(arena, "%s-runtime-snapshot", meta_name(tj));
}

static int print(struct buf *ret, const cJSON *runtime, struct error *err)
{
	cleanup_field_errors struct field_errors unlike = {
		0
	}; /* ignored: pipeline_build() reports these errors */
	cleanup_json cJSON *copy = json_dup(runtime);

	meta_drop_managed_fields(copy);
	shape_canonical(&unlike, "", copy, shape_runtime);
	yaml_print(ret, copy);
	return buf_check(ret, "the runtime snapshot", err);
}

cJSON *snapshot_of_text(const cJSON *tj, const char *text)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *ret = meta_new("v1", "ConfigMap", meta_namespace(tj),
			      snapshot_name(&arena, tj));

	meta_set_owner(ret, tj);
	json_put_str(ret, text, "data", KEY);
	return ret;
}

int snapshot_make(cJSON **ret, const cJSON *tj, const cJSON *runtime, struct error *err)
{
	cleanup_buf struct buf text = { .max = SNAPSHOT_MAX };

	if (print(&text, runtime, err))
		return -1;
	*ret = snapshot_of_text(tj, (const char *)text.data);
	return 0;
}

const char *snapshot_text(const cJSON *configmap)
{
	return json_str(configmap, "data", KEY);
}

/* ---- reading ---- */

static int invalid(struct error *err, const char *what)
{
	return error_set(err, ERR_INVALID, "invalid runtime snapshot: %s", what);
}

/* A part that the reference leaves out matches any value. */
static bool fits(const char *wanted, const char *actual)
{
	return !*wanted || str_eq(wanted, actual);
}

static int check_reference(const cJSON *tj, const cJSON *runtime, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct runtime_ref ref = tj_runtime_ref(tj);
	const char *kind = meta_kind(runtime), *name = meta_name(runtime);
	const char *group = api_group(&arena, meta_api_version(runtime));

	if (fits(ref.kind, kind) && fits(ref.group, group) && str_eq(ref.name, name))
		return 0;
	return error_set(err, ERR_INVALID,
			 "invalid runtime snapshot: wrong runtime: expected "
			 "name, API group and kind \"%s\", \"%s\", \"%s\", found \"%s\", "
			 "\"%s\", \"%s\"",
			 ref.name, *ref.group ? ref.group : "<any>",
			 *ref.kind ? ref.kind : "<any>", name ? name : "", group,
			 kind ? kind : "");
}

int snapshot_read(cJSON **ret, const cJSON *tj, const cJSON *configmap, struct error *err)
{
	cleanup_json cJSON *docs = NULL;
	cleanup_json cJSON *runtime = NULL;
	const char *text = snapshot_text(configmap);

	if (!meta_is_controlled(configmap, tj))
		return invalid(err, "a ConfigMap of its name exists, but is owned by "
				    "another object");
	if (!text)
		return invalid(err, "the ConfigMap has no data key \"" KEY "\"");
	if (yaml_parse(&docs, text, strlen(text), err))
		return error_wrap(err, "invalid runtime snapshot");
	if (!docs->child || docs->child->next || !cJSON_IsObject(docs->child))
		return invalid(err, "not a single object");
	runtime = cJSON_DetachItemViaPointer(docs, docs->child);
	if (check_reference(tj, runtime, err))
		return -1;
	*ret = STEAL(runtime);
	return 0;
}
