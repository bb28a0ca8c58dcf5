/* catalog.c - find a runtime by name, or list them (spec/catalog.h). */
#include "spec/catalog.h"

#include <string.h>

#include "api/meta.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "spec/refer.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"

#define FOLDER "runtimes/"
#define SUFFIX ".yaml"

static cJSON *from_asset(const struct asset *asset)
{
	cleanup_json cJSON *docs = NULL;
	struct error err = { 0 };

	/* Cannot fail: a unit test parses all of them. */
	if (yaml_parse(&docs, asset->data, asset->len, &err) || !docs->child)
		return NULL;
	return cJSON_DetachItemViaPointer(docs, docs->child);
}

/* A built-in runtime by name, or NULL. */
static cJSON *builtin(const char *name)
{
	cleanup_arena struct arena arena = { 0 };
	const struct asset *asset =
		asset_find(arena_printf(&arena, FOLDER "%s" SUFFIX, name));

	return asset ? from_asset(asset) : NULL;
}

static bool in_namespace(const cJSON *obj, const char *ns)
{
	const char *its = meta_namespace(obj);

	return meta_is(obj, TRAINER_GROUP, CLUSTER_RUNTIME_KIND) || !its || !*its ||
	       !ns || str_eq(its, ns);
}

static const struct doc *in_files(const struct input *in, const char *kind,
				  const char *name, const char *ns)
{
	for (size_t i = 0; i < in->n; i++)
		if (doc_is(&in->docs[i], kind) &&
		    str_eq(meta_name(in->docs[i].obj), name) &&
		    in_namespace(in->docs[i].obj, ns))
			return &in->docs[i];
	return NULL;
}

static bool is_runtime(const cJSON *obj, const char *kind)
{
	return kind ? meta_is(obj, TRAINER_GROUP, kind)
		    : meta_is(obj, TRAINER_GROUP, RUNTIME_KIND) ||
			       meta_is(obj, TRAINER_GROUP, CLUSTER_RUNTIME_KIND);
}

static void add_name(const char **list, size_t *n, const char *name)
{
	if (name && !str_in(name, list))
		list[(*n)++] = name;
}

/* Names of the runtimes of that kind (NULL: any); ends with NULL. */
static const char **names(struct arena *arena, const struct input *in, const cJSON *api,
			  const char *kind, const char *ns)
{
	size_t max = in->n + (size_t)cJSON_GetArraySize(api) + 1, n = 0;
	const char **list;
	const cJSON *c;

	for (const struct asset *a = assets; a->name; a++)
		max++;
	list = arena_alloc(arena, max * sizeof(*list));
	for (size_t i = 0; i < in->n; i++)
		if (is_runtime(in->docs[i].obj, kind) &&
		    in_namespace(in->docs[i].obj, ns))
			add_name(list, &n, meta_name(in->docs[i].obj));
	json_each(c, api)
		if (is_runtime(c, kind))
			add_name(list, &n, meta_name(c));
	for (const struct asset *a = assets; a->name; a++) {
		const char *base = str_after(a->name, FOLDER);

		if (base && (!kind || str_eq(kind, CLUSTER_RUNTIME_KIND)))
			add_name(list, &n,
				 str_slice(arena, base, strlen(base) - strlen(SUFFIX)));
	}
	return list;
}

/*
 * The nearest name of the other kind, or NULL if there is none or `near`, the nearest of
 * this kind (or NULL), is as similar.
 */
static const char *nearer(const char **others, const char *name, const char *near)
{
	const char *its = nearest_word(name, others);
	const char *const both[] = { near ? near : its, its, NULL };

	return its && (!near || nearest_word(name, both) != near) ? its : NULL;
}

static const char *hint(struct arena *arena, const struct input *in, const cJSON *api,
			const char *kind, const char *name, const char *ns)
{
	const char **list = names(arena, in, api, kind, ns),
		   *all = str_join(arena, list, ", ");
	const char *near = nearest_word(name, list), *of_other = NULL;
	const char *other =
		str_eq(kind, RUNTIME_KIND) ? CLUSTER_RUNTIME_KIND : RUNTIME_KIND;

	if (kind)
		of_other = nearer(names(arena, in, api, other, ns), name, near);
	if (of_other)
		return arena_printf(arena, "did you mean the %s '%s'?", other, of_other);
	if (!*list)
		return "pass it with --runtime-file";
	if (!near)
		return arena_printf(arena, "available: %s", all);
	return arena_printf(arena, "%s Available: %s", nearest_did_you_mean(arena, near),
			    all);
}

const struct doc *runtime_in_files(const struct input *in, const cJSON *trainjob,
				   const char *ns)
{
	struct runtime_ref ref = tj_runtime_ref(trainjob);

	return in_files(in, ref.kind, ref.name, ns);
}

cJSON *runtime_find(const struct input *in, const struct runtime_name *which,
		    bool with_builtin)
{
	const struct doc *doc = in_files(in, which->kind, which->name, which->ns);

	if (doc)
		return json_dup(doc->obj);
	return with_builtin && str_eq(which->kind, CLUSTER_RUNTIME_KIND)
		       ? builtin(which->name)
		       : NULL;
}

bool runtime_exists(const struct input *in, const struct runtime_name *which,
		    bool with_builtin)
{
	cleanup_json cJSON *obj = runtime_find(in, which, with_builtin);

	return obj != NULL;
}

cJSON *runtime_resolve(const struct input *in, const struct schema *schema,
		       const cJSON *trainjob, const char *ns, struct field_errors *errs)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *value = tj_runtime_ref_value(trainjob);
	struct runtime_ref ref = tj_runtime_ref(trainjob);
	struct error err = { 0 };
	const struct doc *doc;
	cJSON *obj = NULL;

	if (tj_check_runtime_ref(trainjob, &err)) {
		field_error_add(errs, FIELD_INVALID, "spec.runtimeRef", value, "%s",
				err.msg);
		return NULL;
	}
	doc = in_files(in, ref.kind, ref.name, ns);
	if (doc)
		return doc->errs.n ? NULL : json_dup(doc->obj);
	if (runtime_ref_is_cluster(&ref))
		obj = builtin(ref.name);
	if (obj)
		schema_default(schema, obj);
	else
		field_error_add(errs, FIELD_INVALID, "spec.runtimeRef", value,
				"no %s '%s'; %s", ref.kind, ref.name,
				hint(&arena, in, NULL, ref.kind, ref.name, ns));
	return obj;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(meta_name(*(cJSON *const *)a), meta_name(*(cJSON *const *)b));
}

static void sort_by_name(cJSON *list)
{
	size_t n = (size_t)cJSON_GetArraySize(list);
	cleanup_free cJSON **items = xcalloc(n, sizeof(*items));

	for (size_t i = 0; i < n; i++)
		items[i] = cJSON_DetachItemViaPointer(list, list->child);
	qsort(items, n, sizeof(*items), by_name);
	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(list, items[i]);
}

/* The API's runtime of that name (kind NULL: of either kind), or NULL. */
static const cJSON *in_api(const cJSON *api, const char *kind, const char *name)
{
	const cJSON *obj;

	json_each(obj, api)
		if (is_runtime(obj, kind) && str_eq(meta_name(obj), name))
			return obj;
	return NULL;
}

static cJSON *with_defaults(const struct schema *schema, cJSON *take_obj)
{
	schema_default(schema, take_obj);
	return take_obj;
}

int runtime_all(cJSON **ret, const struct input *in, const cJSON *api,
		const struct schema *schema, struct error *err)
{
	cleanup_json cJSON *list = cJSON_CreateArray();
	const cJSON *c;

	for (size_t i = 0; i < in->n; i++)
		if (doc_is_runtime(&in->docs[i]) && meta_name(in->docs[i].obj))
			cJSON_AddItemToArray(list, json_dup(in->docs[i].obj));
	json_each(c, api)
		if (meta_name(c) &&
		    !in_files(in, meta_kind(c), meta_name(c), meta_namespace(c)))
			cJSON_AddItemToArray(list, with_defaults(schema, json_dup(c)));
	for (const struct asset *a = assets; a->name; a++) {
		cJSON *obj = str_starts(a->name, FOLDER) ? from_asset(a) : NULL;

		if (!obj && str_starts(a->name, FOLDER))
			return error_set(err, ERR_FORMAT, "%s inside this binary",
					 a->name);
		if (!obj)
			continue;
		if (in_files(in, CLUSTER_RUNTIME_KIND, meta_name(obj), NULL) ||
		    in_api(api, CLUSTER_RUNTIME_KIND, meta_name(obj))) {
			cJSON_Delete(obj);
			continue;
		}
		cJSON_AddItemToArray(list, with_defaults(schema, obj));
	}
	sort_by_name(list);
	*ret = STEAL(list);
	return 0;
}

int runtime_by_name(cJSON **ret, const struct input *in, const cJSON *api,
		    const struct schema *schema, const char *name, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *kind;
	cJSON *obj;

	if (refer_runtime(&name, &kind, err))
		return -1;
	for (size_t i = 0; i < in->n; i++) {
		obj = in->docs[i].obj;
		if ((kind ? doc_is(&in->docs[i], kind) : doc_is_runtime(&in->docs[i])) &&
		    str_eq(meta_name(obj), name)) {
			*ret = json_dup(obj);
			return 0;
		}
	}
	obj = json_dup(in_api(api, kind, name));
	if (!obj && !str_eq(kind, RUNTIME_KIND))
		obj = builtin(name);
	if (!obj)
		return error_set(err, ERR_NOT_FOUND, "no %s '%s'; %s",
				 kind ? kind : "runtime", name,
				 hint(&arena, in, api, kind, name, NULL));
	meta_drop_server_fields(obj);
	*ret = with_defaults(schema, obj);
	return 0;
}
