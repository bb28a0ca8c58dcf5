#include <string.h>

#include "api/meta.h"
#include "api/patch.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/yaml.h"
#include "plugins/plugins.h"
#include "tests/golden/golden.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"
#include "trainer/validation.h"

/* Its Service's name and namespace are those of the install manifests. */
#define STATUS_SERVER \
	"https://kubeflow-trainer-controller-manager.kubeflow-system.svc:10443"

/* What the API server calls a TrainJob; owner references are made of it. */
#define UID "00000000-0000-4000-8000-000000000001"

void world_release(struct world *w)
{
	cJSON_Delete(w->stored);
	cJSON_Delete(w->built);
}

static bool is_cluster_wide(const cJSON *obj)
{
	static const char *const kinds[] = { CLUSTER_RUNTIME_KIND, "PriorityClass",
					     "RuntimeClass", NULL };

	return str_in(meta_kind(obj), kinds);
}

static const cJSON *find(const struct world *w, const char *kind, const char *ns,
			 const char *name)
{
	const cJSON *obj;

	json_each(obj, w->stored)
		if (str_eq(meta_kind(obj), kind) && str_eq(meta_name(obj), name) &&
		    (is_cluster_wide(obj) || str_eq(meta_namespace(obj), ns)))
			return obj;
	return NULL;
}

static cJSON *find_built(const struct world *w, const char *kind, const char *version,
			 const char *name)
{
	cJSON *obj;

	json_each(obj, w->built)
		if (str_eq(meta_kind(obj), kind) && str_eq(meta_name(obj), name) &&
		    (!version || str_eq(meta_api_version(obj), version)))
			return obj;
	return NULL;
}

/* plugin_env's get(): what a controller would ask the API server for. */
static int get(void *ctx, const struct object_ref *ref, const cJSON **ret,
	       struct error *err)
{
	const cJSON *obj = find(ctx, ref->kind, ref->ns, ref->name);

	if (!obj)
		obj = find_built(ctx, ref->kind, ref->api_version, ref->name);

	*ret = obj && str_eq(meta_api_version(obj), ref->api_version) ? obj : NULL;
	return 0;
}

void world_init(struct world *w, const struct schema *schema)
{
	*w = (struct world){ .schema = schema,
			     .stored = cJSON_CreateArray(),
			     .built = cJSON_CreateArray() };
	w->env = (struct plugin_env){ .keys = &keys_placeholder,
				      .get = get,
				      .ctx = w,
				      .status_server_url = STATUS_SERVER,
				      .status_server_ca =
					      "-----BEGIN CERTIFICATE-----\n" };
	w->pipeline = (struct pipeline){ .plugins = plugins, .env = &w->env };
}

/* Create the built-in runtime of that name, if there is one. */
static void install_builtin(struct world *w, const char *name)
{
	cleanup_arena struct arena arena = { 0 };
	const struct asset *a =
		asset_find(arena_printf(&arena, "runtimes/%s.yaml", name));
	cleanup_json cJSON *docs = NULL;
	cleanup_answer struct answer answer = { 0 };
	struct error err = { 0 };

	if (!a || yaml_parse(&docs, a->data, a->len, &err))
		return;
	world_create(w, docs->child, &answer);
}

static const cJSON *runtime_of(struct world *w, const cJSON *tj)
{
	struct runtime_ref ref = tj_runtime_ref(tj);

	if (runtime_ref_is_cluster(&ref) && !find(w, ref.kind, NULL, ref.name))
		install_builtin(w, ref.name);
	return find(w, ref.kind, meta_namespace(tj), ref.name);
}

/* The errors that count at an API server; it only warns of unknown fields. */
static void take_errors(const struct field_errors *errs, struct answer *answer, int code)
{
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < errs->n; i++) {
		const struct field_error *e = &errs->list[i];
		cleanup_buf struct buf text = { .max = 65536 };

		if (e->type == FIELD_UNKNOWN)
			continue;
		answer->code = code;
		cJSON_AddItemToArray(
			answer->errors,
			cJSON_CreateString(arena_printf(&arena, "%s: %s", e->path,
							field_error_type_name(e->type))));
		field_error_print(&text, e);
		cJSON_AddItemToArray(answer->texts,
				     cJSON_CreateString((const char *)text.data));
	}
}

void answer_release(struct answer *answer)
{
	cJSON_Delete(answer->errors);
	cJSON_Delete(answer->texts);
}

static int count_unknown(const struct schema *schema, const cJSON *obj)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	int n = 0;

	schema_validate(schema, obj, NULL, &errs);
	for (size_t i = 0; i < errs.n; i++)
		n += errs.list[i].type == FIELD_UNKNOWN;
	return n;
}

/* What the schema says, wrong types included (upstream's mutating webhook: 400): 422. */
static void check_schema(const struct world *w, cJSON *obj, const cJSON *old,
			 struct answer *answer)
{
	cleanup_field_errors struct field_errors errs = { 0 };

	answer->warnings += count_unknown(w->schema, obj);
	schema_default(w->schema, obj);
	schema_prune(w->schema, obj);
	if (str_eq(meta_kind(obj), TRAINJOB_KIND))
		tj_default_patch_times(obj, old, NOW);
	schema_validate(w->schema, obj, old, &errs);
	take_errors(&errs, answer, 422);
}

/* What the validating webhooks say: 403. */
static void check_webhook(struct world *w, const cJSON *obj, const cJSON *old,
			  struct answer *answer)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_json cJSON *warnings = cJSON_CreateArray();

	if (str_eq(meta_kind(obj), TRAINJOB_KIND))
		pipeline_validate(&w->pipeline, old, obj, runtime_of(w, obj), &errs,
				  warnings);
	else
		pipeline_validate_runtime(obj, &errs, warnings);
	unstartable_to_warnings(&errs, warnings);
	take_errors(&errs, answer, 403);
	answer->warnings += cJSON_GetArraySize(warnings);
}

/* What is applied takes the place of what is there. */
static void apply(struct world *w, cJSON *take_obj)
{
	cJSON *old = find_built(w, meta_kind(take_obj), meta_api_version(take_obj),
				meta_name(take_obj));

	if (old)
		cJSON_ReplaceItemViaPointer(w->built, old, take_obj);
	else
		cJSON_AddItemToArray(w->built, take_obj);
}

/* One reconcile of every TrainJob, as far as objects are concerned. */
static void reconcile(struct world *w)
{
	const cJSON *tj;
	struct error err = { 0 };

	w->trouble[0] = 0;
	json_each(tj, w->stored) {
		cJSON *objects = NULL;

		if (!str_eq(meta_kind(tj), TRAINJOB_KIND) || !tj_is_ours(tj))
			continue;
		if (pipeline_build(&w->pipeline, tj, runtime_of(w, tj), &objects, &err)) {
			snprintf(w->trouble, sizeof(w->trouble), "%s: %s", meta_name(tj),
				 err.msg);
			continue;
		}
		while (objects->child)
			apply(w, cJSON_DetachItemViaPointer(objects, objects->child));
		cJSON_Delete(objects);
	}
}

/* Through the doors of the API server; the object is changed to what is stored. */
static void admit(struct world *w, cJSON *obj, const cJSON *old, struct answer *answer)
{
	*answer = (struct answer){ .code = old ? 200 : 201,
				   .errors = cJSON_CreateArray(),
				   .texts = cJSON_CreateArray() };
	if (schema_knows(w->schema, obj)) {
		check_schema(w, obj, old, answer);
		if (answer->code < 300)
			check_webhook(w, obj, old, answer);
	}
	answer->errors = sorted_set(answer->errors);
}

void world_create(struct world *w, const cJSON *obj, struct answer *answer)
{
	cJSON *copy = json_dup(obj);

	if (!is_cluster_wide(copy) && !meta_namespace(copy))
		json_put_str(copy, NAMESPACE, "metadata", "namespace");
	admit(w, copy, NULL, answer);
	if (answer->code != 201) {
		cJSON_Delete(copy);
		return;
	}
	if (!w->client)
		json_put_str(copy, UID, "metadata", "uid");
	cJSON_AddItemToArray(w->stored, copy);
	reconcile(w);
}

/* "PodGroup.scheduling.x-k8s.io": the kind, and the group where one is said. */
static cJSON *find_changed(const struct world *w, const cJSON *what)
{
	cleanup_arena struct arena arena = { 0 };
	const char *kind = json_str(what, "kind"), *name = json_str(what, "name");
	const char *want = arena_printf(&arena, "%s/%s", kind, name);
	cJSON *obj;

	json_each(obj, w->built)
		if (str_eq(object_title(&arena, obj), want))
			return obj;
	return (cJSON *)find(w, kind, NAMESPACE, name);
}

void world_patch(struct world *w, const cJSON *what, struct answer *answer)
{
	cJSON *old = find_changed(w, what);
	bool tj = old && str_eq(meta_kind(old), TRAINJOB_KIND);
	cJSON *copy;

	*answer = (struct answer){ .code = 404 };
	if (!old)
		return;
	copy = json_dup(old);
	patch_merge(copy, json_get(what, "merge"));
	admit(w, copy, old, answer);
	if (answer->code == 200)
		cJSON_ReplaceItemViaPointer(tj ? w->stored : w->built, old, copy);
	else
		cJSON_Delete(copy);
	reconcile(w);
}

void world_delete(struct world *w, const cJSON *what, struct answer *answer)
{
	cJSON *old = find_changed(w, what);

	*answer = (struct answer){ .code = old ? 200 : 404 };
	if (old)
		cJSON_Delete(cJSON_DetachItemViaPointer(w->built, old));
	reconcile(w);
}
