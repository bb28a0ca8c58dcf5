/* openapi.c - serves OpenAPI v3, for kubectl explain (apiserver/exchange.h). */
#include <string.h>

#include "apiserver/exchange.h"
#include "base/cleanup.h"
#include "base/str.h"

/* The kind's key in components.schemas: "jobset.x-k8s.io.v1alpha2.JobSet". */
static const char *component(struct arena *arena, const struct resource *r)
{
	const char *group = resource_group(arena, r);

	return arena_printf(arena, "%s.%s.%s", *group ? group : "core",
			    resource_version(r), r->kind);
}

static cJSON *kind_of(struct arena *arena, const struct resource *r)
{
	cJSON *kind = cJSON_CreateObject();

	json_put_str(kind, resource_group(arena, r), "group");
	json_put_str(kind, r->kind, "kind");
	json_put_str(kind, resource_version(r), "version");
	return kind;
}

/* The schema, with its group, version and kind. */
static cJSON *schema_doc(struct exchange *x, const struct resource *r)
{
	const struct schema *schema = schema_for(&x->server->schemas, r);
	cleanup_json cJSON *crd = schema_crd(schema, r->kind);
	cJSON *versions = json_get(crd, "spec", "versions");
	cJSON *doc = json_dup(
		json_get(versions ? versions->child : NULL, "schema", "openAPIV3Schema"));

	cJSON_AddItemToArray(json_list(doc, "x-kubernetes-group-version-kind"),
			     kind_of(&x->arena, r));
	return doc;
}

static cJSON *operation(struct exchange *x, const struct resource *r, const char *action)
{
	cJSON *op = cJSON_CreateObject();

	json_put_str(op, action, "x-kubernetes-action");
	json_put(op, kind_of(&x->arena, r), "x-kubernetes-group-version-kind");
	json_put_str(op, "OK", "responses", "200", "description");
	return op;
}

static cJSON *parameter(const char *name, const char *in)
{
	cJSON *p = cJSON_CreateObject();

	json_put_str(p, name, "name");
	json_put_str(p, in, "in");
	if (str_eq(in, "path"))
		json_put_bool(p, true, "required");
	json_put_str(p, "string", "schema", "type");
	return p;
}

/* kubectl reads here whether a kind supports dryRun and fieldValidation. */
static void add_paths(struct exchange *x, const struct resource *r, cJSON *paths)
{
	static const char *const methods[][2] = { { "get", "get" },
						  { "put", "put" },
						  { "patch", "patch" },
						  { "delete", "delete" } };
	static const char *const queries[] = { "dryRun", "fieldManager",
					       "fieldValidation" };
	const char *root = strchr(r->api_version, '/') ? "apis" : "api";
	const char *path = arena_printf(
		&x->arena, "/%s/%s/%s%s/{name}", root, r->api_version,
		resource_is(r, RESOURCE_NAMESPACED) ? "namespaces/{namespace}/" : "",
		r->plural);
	cJSON *item = cJSON_CreateObject();

	for (size_t i = 0; i < N_ELEMENTS(methods); i++) {
		cJSON *op = operation(x, r, methods[i][1]);

		for (size_t q = 0; q < N_ELEMENTS(queries); q++)
			cJSON_AddItemToArray(json_list(op, "parameters"),
					     parameter(queries[q], "query"));
		json_put(item, op, methods[i][0]);
	}
	cJSON_AddItemToArray(json_list(item, "parameters"), parameter("name", "path"));
	if (resource_is(r, RESOURCE_NAMESPACED))
		cJSON_AddItemToArray(json_list(item, "parameters"),
				     parameter("namespace", "path"));
	json_put(paths, item, path);
}

static cJSON *group_doc(struct exchange *x, const char *api_version)
{
	cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, "3.0.0", "openapi");
	json_put_str(doc, "kftrainer", "info", "title");
	json_put_str(doc, VERSION, "info", "version");
	json_obj(doc, "paths");
	for (const struct resource *r = resources; r->kind; r++)
		if (str_eq(r->api_version, api_version)) {
			add_paths(x, r, json_obj(doc, "paths"));
			json_put(doc, schema_doc(x, r), "components", "schemas",
				 component(&x->arena, r));
		}
	return doc;
}

static cJSON *index_doc(struct exchange *x)
{
	cJSON *doc = cJSON_CreateObject();

	for (const struct resource *r = resources; r->kind; r++) {
		const char *root = strchr(r->api_version, '/') ? "apis" : "api";
		const char *path = arena_printf(&x->arena, "%s/%s", root, r->api_version);

		json_put_str(
			doc,
			arena_printf(&x->arena, "/openapi/v3/%s?hash=" VERSION, path),
			"paths", path, "serverRelativeURL");
	}
	return doc;
}

/* /openapi/v3, /openapi/v3/api/v1, /openapi/v3/apis/GROUP/VERSION */
void openapi_get(struct exchange *x)
{
	cleanup_json cJSON *doc = NULL;
	const char *version = NULL;

	if (x->n_path == 4 && str_eq(x->path[2], "api"))
		version = x->path[3];
	else if (x->n_path == 5 && str_eq(x->path[2], "apis"))
		version = arena_printf(&x->arena, "%s/%s", x->path[3], x->path[4]);
	if (x->n_path >= 2 && str_eq(x->path[1], "v3")) {
		if (x->n_path == 2)
			doc = index_doc(x);
		for (const struct resource *r = resources; version && !doc && r->kind;
		     r++)
			if (str_eq(r->api_version, version))
				doc = group_doc(x, version);
	}
	if (doc)
		exchange_answer(x, 200, STEAL(doc));
	else
		exchange_no_such_path(x);
}
