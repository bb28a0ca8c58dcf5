/*
 * A TrainJob and a runtime, [tj, runtime, old, object...], that nothing has validated: the
 * pipeline answers with objects or with one clear error, twice the same, and leaves its
 * input as it was. `old` is the TrainJob before the update; the others are what a plugin
 * finds in the cluster: a JobSet, a ResourceClaimTemplate, a PriorityClass, a ConfigMap.
 */
#include "api/meta.h"
#include "api/schema.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "plugins/plugins.h"
#include "tests/fuzz/fuzz.h"
#include "trainer/pipeline.h"
#include "trainer/snapshot.h"
#include "trainer/trainjob.h"

/* The first object of that kind; its name does not matter. ctx: the array. */
static int get(void *ctx, const struct object_ref *what, const cJSON **ret,
	       struct error *err)
{
	const cJSON *obj;

	*ret = NULL;
	json_each(obj, *(cJSON **)ctx)
		if (!*ret && str_eq(meta_kind(obj), what->kind))
			*ret = obj;
	return 0;
}

static cJSON *cluster; /* the input, an array */
static const struct plugin_env env = {
	.keys = &keys_placeholder,
	.get = get,
	.ctx = &cluster,
	.status_server = true,
	.status_server_url = "https://svc.ns.svc:10443",
	.status_server_ca = "CA",
};
static const struct pipeline pipeline = { plugins, &env };

static bool has_null(const cJSON *doc)
{
	const cJSON *child;

	json_each(child, doc)
		if ((cJSON_IsNull(child) && cJSON_IsObject(doc)) || has_null(child))
			return true;
	return false;
}

static void check_objects(const cJSON *objects)
{
	const cJSON *obj, *last = NULL;

	json_each(obj, objects) {
		FUZZ_CHECK(meta_kind(obj) && meta_api_version(obj) && meta_name(obj));
		FUZZ_CHECK(!has_null(obj));
		last = obj;
	}
	/* that of a running job is left as it is */
	get(&cluster, &(struct object_ref){ .kind = "JobSet" }, &obj, NULL);
	FUZZ_CHECK(obj || (last && str_eq(meta_kind(last), "JobSet")));
}

static char *build(const cJSON *tj, const cJSON *runtime)
{
	cleanup_json cJSON *objects = NULL;
	struct error err = { 0 };

	if (pipeline_build(&pipeline, tj, runtime, &objects, &err)) {
		FUZZ_CHECK(!objects && err.kind != ERR_NONE && err.msg[0]);
		return xstrdup(err.msg);
	}
	check_objects(objects);
	return json_text(objects);
}

static void validate(const cJSON *old, const cJSON *tj, const cJSON *runtime)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_json cJSON *warnings = cJSON_CreateArray();

	pipeline_validate(&pipeline, old, tj, runtime, &errs, warnings);
	pipeline_validate_runtime(runtime, &errs, warnings);
	for (size_t i = 0; i < errs.n; i++)
		FUZZ_CHECK(errs.list[i].path && errs.list[i].detail);
}

/* A snapshot that we made is read as the runtime; another is an error or an object. */
static void snapshot(const cJSON *tj, const cJSON *runtime)
{
	cleanup_json cJSON *map = NULL, *read = NULL, *again = NULL;
	const cJSON *given = NULL;
	struct error err = { 0 };

	if (!cJSON_IsObject(tj) || !cJSON_IsObject(runtime) || !meta_name(tj))
		return;
	get(&cluster, &(struct object_ref){ .kind = "ConfigMap" }, &given, &err);
	if (given && !snapshot_read(&again, tj, given, &err))
		FUZZ_CHECK(cJSON_IsObject(again));
	if (!snapshot_make(&map, tj, runtime, &err) && meta_uid(tj) &&
	    !snapshot_read(&read, tj, map, &err))
		FUZZ_CHECK(str_eq(meta_name(read), meta_name(runtime)));
}

static void run(const cJSON *tj, const cJSON *runtime, const cJSON *old)
{
	cleanup_free char *tj_before = json_text(tj),
			  *runtime_before = json_text(runtime);
	cleanup_free char *once = build(tj, runtime), *twice = build(tj, runtime);
	cleanup_free char *tj_after = NULL, *runtime_after = NULL;

	FUZZ_CHECK(str_eq(once, twice));
	validate(NULL, tj, runtime);
	validate(tj, tj, runtime);
	validate(old, tj, runtime);
	snapshot(tj, runtime);
	tj_after = json_text(tj);
	runtime_after = json_text(runtime);
	FUZZ_CHECK(str_eq(tj_before, tj_after));
	FUZZ_CHECK(str_eq(runtime_before, runtime_after));
}

static const struct schema *schema(void)
{
	static struct schema *loaded;
	const struct asset *file = asset_find("schema.json");
	struct error err = { 0 };

	if (!loaded)
		FUZZ_CHECK(!schema_load(&loaded, file->data, file->len, &err));
	return loaded;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	cleanup_json cJSON *doc = NULL;
	cJSON *tj, *runtime, *old;

	if (json_parse(&doc, data, size, &err) || !cJSON_IsArray(doc) || !doc->child ||
	    !doc->child->next)
		return 0;
	cluster = doc;
	tj = doc->child;
	runtime = tj->next;
	old = runtime->next;
	run(tj, runtime, old);
	schema_default(schema(), tj);
	schema_default(schema(), runtime);
	run(tj, runtime, old);
	tj_default_patch_times(tj, old, "2026-01-02T03:04:05Z");
	cluster = NULL;
	return 0;
}
