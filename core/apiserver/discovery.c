/* discovery.c - serves /version, /api, /apis and /openapi/v3 (apiserver/exchange.h). */
#include <string.h>

#include "apiserver/exchange.h"
#include "base/cleanup.h"
#include "base/str.h"

#define AGGREGATED "as=APIGroupDiscoveryList"
#define DISCOVERY  "apidiscovery.k8s.io/v2"

static const char *const read_verbs[] = { "get", "list", "watch", NULL };
static const char *const all_verbs[] = { "create", "delete", "deletecollection",
					 "get",    "list",   "patch",
					 "update", "watch",  NULL };
static const char *const single_verbs[] = { "create", "delete", "get",   "list",
					    "patch",  "update", "watch", NULL };
static const char *const custom_verbs[] = {
	"delete", "deletecollection", "get",   "list", "patch",
	"create", "update",           "watch", NULL
};
static const char *const status_verbs[] = { "get", "patch", "update", NULL };
static const char *const get_verb[] = { "get", NULL };

static cJSON *strings(const char *const *words)
{
	cJSON *list = cJSON_CreateArray();

	for (; words && *words; words++)
		cJSON_AddItemToArray(list, cJSON_CreateString(*words));
	return list;
}

static const struct {
	const char *name;
	unsigned flag;
} subresources[] = { { "log", RESOURCE_LOG }, { "status", RESOURCE_STATUS } };
enum { N_SUBRESOURCES = N_ELEMENTS(subresources) };

static const char *const *verbs_of(const struct resource *r)
{
	if (resource_is(r, RESOURCE_READ_ONLY))
		return read_verbs;
	if (resource_is(r, RESOURCE_ONE_BY_ONE))
		return single_verbs;
	return resource_is(r, RESOURCE_CUSTOM) ? custom_verbs : all_verbs;
}

/* The verbs of a subresource: logs belong to pods, which are read-only. */
static const char *const *verbs_below(const struct resource *r)
{
	return resource_is(r, RESOURCE_READ_ONLY) ? get_verb : status_verbs;
}

static void put_words(cJSON *doc, const char *const *words, const char *key)
{
	if (words)
		json_put(doc, strings(words), key);
}

/* ---- APIGroupList, APIResourceList -------------------------------------------------- */

static cJSON *resource_entry(struct arena *arena, const struct resource *r,
			     const char *sub, const char *const *verbs)
{
	cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, *sub ? arena_printf(arena, "%s/%s", r->plural, sub) : r->plural,
		     "name");
	json_put_str(doc, *sub ? "" : r->singular, "singularName");
	json_put_bool(doc, resource_is(r, RESOURCE_NAMESPACED), "namespaced");
	json_put_str(doc, r->kind, "kind");
	json_put(doc, strings(verbs), "verbs");
	if (!*sub) {
		put_words(doc, r->short_names, "shortNames");
		put_words(doc, r->categories, "categories");
	}
	return doc;
}

static cJSON *resource_list(struct arena *arena, const char *api_version)
{
	cJSON *list = NULL;

	for (const struct resource *r = resources; r->kind; r++) {
		if (!str_eq(r->api_version, api_version))
			continue;
		if (!list) {
			list = cJSON_CreateObject();
			json_put_str(list, "APIResourceList", "kind");
			if (strchr(api_version, '/'))
				json_put_str(list, "v1", "apiVersion");
			json_put_str(list, api_version, "groupVersion");
		}
		cJSON_AddItemToArray(json_list(list, "resources"),
				     resource_entry(arena, r, "", verbs_of(r)));
		for (size_t i = 0; i < N_SUBRESOURCES; i++)
			if (resource_is(r, subresources[i].flag))
				cJSON_AddItemToArray(json_list(list, "resources"),
						     resource_entry(arena, r,
								    subresources[i].name,
								    verbs_below(r)));
	}
	return list;
}

/* Is r the first resource of its group in the table? */
static bool is_first(struct arena *arena, const struct resource *r)
{
	const char *group = resource_group(arena, r);

	for (const struct resource *q = resources; q < r; q++)
		if (str_eq(resource_group(arena, q), group))
			return false;
	return true;
}

static cJSON *group_entry(struct arena *arena, const struct resource *r, bool alone)
{
	cJSON *doc = cJSON_CreateObject(), *version = cJSON_CreateObject();

	if (alone) {
		json_put_str(doc, "APIGroup", "kind");
		json_put_str(doc, "v1", "apiVersion");
	}
	json_put_str(doc, resource_group(arena, r), "name");
	json_put_str(version, r->api_version, "groupVersion");
	json_put_str(version, resource_version(r), "version");
	json_put(doc, json_dup(version), "preferredVersion");
	cJSON_AddItemToArray(json_list(doc, "versions"), version);
	return doc;
}

static cJSON *group_list(struct arena *arena)
{
	cJSON *list = cJSON_CreateObject();

	json_put_str(list, "APIGroupList", "kind");
	json_put_str(list, "v1", "apiVersion");
	json_list(list, "groups");
	for (const struct resource *r = resources; r->kind; r++)
		if (strchr(r->api_version, '/') && is_first(arena, r))
			cJSON_AddItemToArray(json_list(list, "groups"),
					     group_entry(arena, r, false));
	return list;
}

static cJSON *core_versions(void)
{
	cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, "APIVersions", "kind");
	json_put(doc, strings((const char *const[]){ "v1", NULL }), "versions");
	json_list(doc, "serverAddressByClientCIDRs");
	return doc;
}

/* ---- aggregated discovery -------------------------------------------------------- */

/* responseKind of built-in kinds is without group and version, as in an API server. */
static cJSON *kind_entry(struct arena *arena, const struct resource *r)
{
	bool custom = resource_is(r, RESOURCE_CUSTOM);
	cJSON *kind = cJSON_CreateObject();

	json_put_str(kind, custom ? resource_group(arena, r) : "", "group");
	json_put_str(kind, custom ? resource_version(r) : "", "version");
	json_put_str(kind, r->kind, "kind");
	return kind;
}

static cJSON *aggregated_resource(struct arena *arena, const struct resource *r)
{
	cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, r->plural, "resource");
	json_put(doc, kind_entry(arena, r), "responseKind");
	json_put_str(doc, resource_is(r, RESOURCE_NAMESPACED) ? "Namespaced" : "Cluster",
		     "scope");
	json_put_str(doc, r->singular, "singularResource");
	json_put(doc, strings(verbs_of(r)), "verbs");
	put_words(doc, r->short_names, "shortNames");
	put_words(doc, r->categories, "categories");
	for (size_t i = 0; i < N_SUBRESOURCES; i++) {
		cJSON *sub;

		if (!resource_is(r, subresources[i].flag))
			continue;
		sub = cJSON_CreateObject();
		json_put_str(sub, subresources[i].name, "subresource");
		json_put(sub, kind_entry(arena, r), "responseKind");
		json_put(sub, strings(verbs_below(r)), "verbs");
		cJSON_AddItemToArray(json_list(doc, "subresources"), sub);
	}
	return doc;
}

static cJSON *aggregated_group(struct arena *arena, const char *api_version,
			       const char *group)
{
	cJSON *doc = cJSON_CreateObject(), *version = cJSON_CreateObject();

	json_obj(doc, "metadata");
	if (*group)
		json_put_str(doc, group, "metadata", "name");
	for (const struct resource *r = resources; r->kind; r++)
		if (str_eq(r->api_version, api_version)) {
			json_put_str(version, resource_version(r), "version");
			cJSON_AddItemToArray(json_list(version, "resources"),
					     aggregated_resource(arena, r));
		}
	json_put_str(version, "Current", "freshness");
	cJSON_AddItemToArray(json_list(doc, "versions"), version);
	return doc;
}

static cJSON *aggregated(struct arena *arena, bool core)
{
	cJSON *list = cJSON_CreateObject();

	json_put_str(list, "APIGroupDiscoveryList", "kind");
	json_put_str(list, DISCOVERY, "apiVersion");
	json_obj(list, "metadata");
	json_list(list, "items");
	for (const struct resource *r = resources; r->kind; r++)
		if (is_first(arena, r) && core == !strchr(r->api_version, '/'))
			cJSON_AddItemToArray(json_list(list, "items"),
					     aggregated_group(arena, r->api_version,
							      resource_group(arena, r)));
	return list;
}

/* ---- /version ----------------------------------------------------------------------- */

static cJSON *version_doc(void)
{
	static const char *const members[][2] = {
		{ "major", "1" },
		{ "minor", "34" },
		{ "emulationMajor", "1" },
		{ "emulationMinor", "34" },
		{ "gitVersion", APISERVER_KUBERNETES "+kftrainer-" VERSION },
		{ "gitCommit", "" },
		{ "gitTreeState", "clean" },
		{ "buildDate", "1970-01-01T00:00:00Z" },
		{ "goVersion", "" },
		{ "compiler", "" },
		{ "platform", "linux/amd64" },
	};
	cJSON *doc = cJSON_CreateObject();

	for (size_t i = 0; i < N_ELEMENTS(members); i++)
		json_put_str(doc, members[i][1], members[i][0]);
	return doc;
}

/* ---- / ------------------------------------------------------------------------------ */

static void add_path(cJSON *list, const char *path)
{
	const cJSON *known;

	json_each(known, list)
		if (str_eq(known->valuestring, path))
			return;
	cJSON_AddItemToArray(list, cJSON_CreateString(path));
}

static cJSON *paths_doc(struct arena *arena)
{
	static const char *const others[] = { "/healthz", "/livez",   "/openapi/v3",
					      "/readyz",  "/version", NULL };
	cJSON *doc = cJSON_CreateObject(), *list = json_list(doc, "paths");

	add_path(list, "/api");
	add_path(list, "/api/v1");
	add_path(list, "/apis");
	for (const struct resource *r = resources; r->kind; r++) {
		const char *group = resource_group(arena, r);

		if (!*group)
			continue;
		add_path(list, arena_printf(arena, "/apis/%s", group));
		add_path(list, arena_printf(arena, "/apis/%s", r->api_version));
	}
	for (const char *const *path = others; *path; path++)
		add_path(list, *path);
	return doc;
}

/* ---- which path --------------------------------------------------------------------- */

static bool is(const struct exchange *x, size_t i, const char *segment)
{
	return i < x->n_path && str_eq(x->path[i], segment);
}

bool discovery_has(const struct exchange *x)
{
	static const char *const alone[] = { "version", "healthz", "readyz", "livez",
					     NULL };

	if (!str_eq(x->http->method, "GET") && !str_eq(x->http->method, "HEAD"))
		return false;
	if (!x->n_path || (x->n_path == 1 && str_in(x->path[0], alone)))
		return true;
	if (is(x, 0, "api"))
		return x->n_path <= 2;
	if (is(x, 0, "apis"))
		return x->n_path <= 3;
	return is(x, 0, "openapi");
}

static cJSON *one_group(struct arena *arena, const char *group)
{
	for (const struct resource *r = resources; r->kind; r++)
		if (*group && str_eq(resource_group(arena, r), group))
			return group_entry(arena, r, true);
	return NULL;
}

static cJSON *document(struct exchange *x)
{
	struct arena *a = &x->arena;

	if (!x->n_path)
		return paths_doc(a);
	if (is(x, 0, "version"))
		return version_doc();
	if (is(x, 0, "api"))
		return x->n_path == 1 ? core_versions() : resource_list(a, x->path[1]);
	if (x->n_path == 1)
		return group_list(a);
	if (x->n_path == 2)
		return one_group(a, x->path[1]);
	return resource_list(a, arena_printf(a, "%s/%s", x->path[1], x->path[2]));
}

void discovery_get(struct exchange *x)
{
	cleanup_json cJSON *doc = NULL;
	bool root = x->n_path == 1 && (is(x, 0, "api") || is(x, 0, "apis"));

	if (is(x, 0, "openapi")) {
		openapi_get(x);
		return;
	}
	if (is(x, 0, "healthz") || is(x, 0, "readyz") || is(x, 0, "livez")) {
		exchange_text(x, 200, "text/plain; charset=utf-8", "ok", 2);
		return;
	}
	if (root && exchange_header_has(x, "Accept", AGGREGATED) &&
	    exchange_header_has(x, "Accept", "v=v2;")) {
		doc = aggregated(&x->arena, is(x, 0, "api"));
		exchange_answer(x, 200, STEAL(doc));
		x->resp->content_type =
			"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
		return;
	}
	doc = document(x);
	if (doc)
		exchange_answer(x, 200, STEAL(doc));
	else if (is(x, 0, "api"))
		exchange_no_such_resource(x);
	else
		exchange_no_such_path(x);
}
