/* apiserver.c - routes requests to their handlers (apiserver/apiserver.h). */
#include "apiserver/apiserver.h"

#include <string.h>

#include "api/meta.h"
#include "apiserver/exchange.h"
#include "apiserver/gc.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/bearer.h"
#include "net/uri.h"

enum { MAX_PARAMETERS = 100 };

/* ---- reading a request -------------------------------------------------------------- */

/* Decode before splitting: as in an API server, %2F separates segments. */
static int read_path(struct exchange *x, struct error *err)
{
	const char *path;

	if (uri_decode(&path, &x->arena, x->http->path + 1, err))
		return -1;
	path = utf8_clean(&x->arena, path);
	x->path = str_split(&x->arena, path, '/', &x->n_path);
	if (x->n_path && !*x->path[x->n_path - 1])
		x->n_path--;
	return 0;
}

static int read_query(struct exchange *x, struct error *err)
{
	size_t n;
	char **parts = str_split(&x->arena, x->http->query, '&', &n);

	if (n > MAX_PARAMETERS)
		return error_set(err, ERR_LIMIT, "over %d parameters", MAX_PARAMETERS);
	for (size_t i = 0; i < n; i++) {
		char *value = strchr(parts[i], '=');
		const char *name, *text;

		for (char *c = parts[i]; *c; c++)
			*c = *c == '+' ? ' ' : *c;
		if (value)
			*value++ = 0;
		if (uri_decode(&name, &x->arena, parts[i], err) ||
		    uri_decode(&text, &x->arena, value ? value : "", err))
			return -1;
		if (*name && !map_get(&x->query, name))
			map_put(&x->query, name, (void *)utf8_clean(&x->arena, text));
	}
	return 0;
}

static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

/* The printable part of User-Agent before the first '/', as in managedFields. */
static const char *default_manager(struct exchange *x)
{
	const char *agent = httpd_header(x->http, "User-Agent");
	char name[MANAGER_NAME_MAX + 1];
	size_t n = 0;

	for (; agent && *agent && *agent != '/' && n < MANAGER_NAME_MAX; agent++)
		if (!is_control(*agent))
			name[n++] = *agent;
	agent = utf8_clean(&x->arena, str_slice(&x->arena, name, n));
	return n ? str_slice(&x->arena, agent,
			     utf8_cut(agent, strlen(agent), MANAGER_NAME_MAX))
		 : "unknown";
}

static int check_manager(struct exchange *x, const char *manager)
{
	cleanup_json cJSON *value = cJSON_CreateString(manager);
	const char *c = manager;

	if (strlen(manager) > MANAGER_NAME_MAX)
		return exchange_bad_option(x, FIELD_TOO_LONG, "fieldManager", NULL,
					   "may not be more than 128 bytes");
	while (*c && !is_control(*c))
		c++;
	if (!*c)
		return 0;
	return exchange_bad_option(
		x, FIELD_INVALID, "fieldManager", value,
		arena_printf(&x->arena, "invalid character U+%04X (at position %zu)",
			     (unsigned char)*c, (size_t)(c - manager)));
}

/* Index of the resource's segment in /api/v1/... and /apis/GROUP/VERSION/...; 0: none. */
static size_t read_version(struct exchange *x, const char **ret)
{
	if (x->n_path > 2 && str_eq(x->path[0], "api")) {
		*ret = x->path[1];
		return 2;
	}
	if (x->n_path > 3 && str_eq(x->path[0], "apis")) {
		*ret = arena_printf(&x->arena, "%s/%s", x->path[1], x->path[2]);
		return 3;
	}
	return 0;
}

static const char *segment(const struct exchange *x, size_t i)
{
	return i < x->n_path ? x->path[i] : "";
}

/* Does this version have custom kinds? True for versions that are not served. */
static bool is_custom(const char *api_version)
{
	for (const struct resource *r = resources; r->kind; r++)
		if (str_eq(r->api_version, api_version))
			return resource_is(r, RESOURCE_CUSTOM);
	return true;
}

/* Read resource, namespace, name and subresource; false: the path has no resource. */
static bool read_resource(struct exchange *x)
{
	const char *version;
	size_t i = read_version(x, &version);
	bool inside;

	if (!i)
		return false;
	/* A namespace's own path: namespaces/NAME and its subresources. */
	inside = str_eq(x->path[i], "namespaces") && x->n_path > i + 2 &&
		 !str_in(x->path[i + 2],
			 (const char *const[]){ "status", "finalize", NULL });
	if (inside) {
		x->ns = x->path[i + 1];
		i += 2;
	}
	x->custom = is_custom(version);
	x->resource = resource_find(version, x->path[i]);
	if (!x->resource || (inside && !resource_is(x->resource, RESOURCE_NAMESPACED)) ||
	    (!inside && resource_is(x->resource, RESOURCE_NAMESPACED) &&
	     x->n_path > i + 1) ||
	    x->n_path > i + 3)
		return false;
	x->name = segment(x, i + 1);
	x->subresource = segment(x, i + 2);
	return true;
}

/* ---- routes ------------------------------------------------------------------------ */

static bool is_authenticated(const struct exchange *x)
{
	const char *token = x->server->conf.token;

	return !token || x->internal || x->trusted ||
	       bearer_is(httpd_header(x->http, "Authorization"), token);
}

static const char *verb_of(const struct exchange *x)
{
	static const char *const verbs[][2] = { { "POST", "create" },
						{ "PUT", "update" },
						{ "PATCH", "patch" } };

	for (size_t i = 0; i < N_ELEMENTS(verbs); i++)
		if (str_eq(verbs[i][0], x->http->method))
			return verbs[i][1];
	return *x->name ? "delete" : "deletecollection";
}

static void not_allowed(struct exchange *x)
{
	const char *text =
		"the server does not allow this method on the requested resource";
	cJSON *details = cJSON_CreateObject();

	if (resource_is(x->resource, RESOURCE_CUSTOM)) {
		text = arena_printf(&x->arena,
				    "%s is not supported on resources of kind \"%s\"",
				    verb_of(x), resource_title(&x->arena, x->resource));
		json_put_str(details, resource_group(&x->arena, x->resource), "group");
		json_put_str(details, x->resource->plural, "kind");
	}
	exchange_refuse_details(x, 405, "MethodNotAllowed", details, text);
}

static const struct route {
	const char *method;
	bool named;
	void (*handle)(struct exchange *x);
} routes[] = {
	{ "GET", true, read_get },
	{ "GET", false, read_list },
	{ "POST", false, write_create },
	{ "PUT", true, write_update },
	{ "PATCH", true, write_patch },
	{ "DELETE", true, delete_one },
	{ "DELETE", false, delete_collection },
};

static bool has_subresource(const struct exchange *x)
{
	return !*x->subresource ||
	       (str_eq(x->subresource, "status") &&
		resource_is(x->resource, RESOURCE_STATUS)) ||
	       (str_eq(x->subresource, "log") && resource_is(x->resource, RESOURCE_LOG));
}

/* A collection across all namespaces, which can only be read. */
static bool is_of_all_namespaces(const struct exchange *x)
{
	return resource_is(x->resource, RESOURCE_NAMESPACED) && !*x->ns;
}

/* Do the kind and the path allow this method, which writes? */
static bool allows_write(const struct exchange *x, const char *method)
{
	bool collection = str_eq(method, "DELETE") && !*x->name;

	if (!x->internal && resource_is(x->resource, RESOURCE_READ_ONLY))
		return false;
	return !is_of_all_namespaces(x) &&
	       !(collection && resource_is(x->resource, RESOURCE_ONE_BY_ONE));
}

static const struct route *find_route(const struct exchange *x, const char *method)
{
	static const char *const of_status[] = { "GET", "PUT", "PATCH", NULL };
	bool read = str_eq(method, "GET");

	if (!read && !allows_write(x, method))
		return NULL;
	if (*x->subresource && !str_in(method, of_status))
		return NULL;
	if (str_eq(x->subresource, "log") && !read)
		return NULL;
	for (size_t i = 0; i < N_ELEMENTS(routes); i++)
		if (str_eq(routes[i].method, method) && routes[i].named == !!*x->name)
			return &routes[i];
	return NULL;
}

static void no_subresource(struct exchange *x)
{
	if (resource_is(x->resource, RESOURCE_CUSTOM))
		exchange_not_found(x);
	else
		exchange_no_such_resource(x);
}

/* As IsValidPathSegmentName(). True: the name is invalid, and the request refused. */
static bool refuse_name(struct exchange *x)
{
	const char *what = str_eq(x->name, ".") || str_eq(x->name, "..") ? x->name
			   : strchr(x->name, '%')                        ? "%"
									 : NULL;

	if (what)
		exchange_refuse(x, 400, "BadRequest",
				"Name parameter invalid: \"%s\": may not %s '%s'",
				x->name, *what == '%' ? "contain" : "be", what);
	return what;
}

static void dispatch(struct exchange *x)
{
	const char *method = str_eq(x->http->method, "HEAD") ? "GET" : x->http->method;
	const struct route *route = find_route(x, method);

	if (!has_subresource(x))
		no_subresource(x);
	else if (!route && x->custom && is_of_all_namespaces(x))
		exchange_no_such_path(x);
	else if (!route)
		not_allowed(x);
	else if (refuse_name(x))
		return;
	else if (!x->internal && exchange_refresh(x))
		return;
	else if (str_eq(x->subresource, "log"))
		log_get(x);
	else if (str_eq(method, "GET") && exchange_flag(x, "watch") && !*x->name)
		watch_start(x);
	else
		route->handle(x);
}

static int read_options(struct exchange *x)
{
	const char *dry = exchange_query(x, "dryRun");
	const char *manager = exchange_query(x, "fieldManager");

	x->dry_run = *dry;
	if (*dry && !str_eq(dry, "All")) {
		cleanup_json cJSON *list = cJSON_CreateArray();

		cJSON_AddItemToArray(list, cJSON_CreateString(dry));
		return exchange_bad_option(x, FIELD_NOT_SUPPORTED, "dryRun", list,
					   "supported values: \"All\"");
	}
	if (check_manager(x, manager))
		return -1;
	x->manager = *manager ? manager : default_manager(x);
	return 0;
}

static bool is_review(const struct exchange *x)
{
	return x->n_path == 4 && str_eq(x->http->method, "POST") &&
	       str_in(x->path[1], (const char *const[]){ "authorization.k8s.io",
							 "authentication.k8s.io", NULL });
}

static void no_resource(struct exchange *x)
{
	if (x->n_path > 2 && !x->custom)
		exchange_no_such_resource(x);
	else
		exchange_no_such_path(x);
}

static void route(struct exchange *x)
{
	struct error err = { 0 };

	if (!is_authenticated(x))
		exchange_refuse(x, 401, "Unauthorized", "Unauthorized");
	else if (read_path(x, &err) || read_query(x, &err))
		exchange_refuse(x, 400, "BadRequest", "%s", err.msg);
	else if (discovery_has(x))
		discovery_get(x);
	else if (is_review(x))
		review_create(x);
	else if (!read_resource(x))
		no_resource(x);
	else if (!read_options(x))
		dispatch(x);
}

static void exchange_release(struct exchange *x)
{
	cJSON_Delete(x->body);
	cJSON_Delete(x->warnings);
	map_release(&x->query, NULL);
	arena_clear(&x->arena);
}

static void handle(struct exchange *x)
{
	x->ns = x->name = x->subresource = "";
	x->resp->headers.max = 64 * 1024;
	x->warnings = cJSON_CreateArray();
	time_text(clock_now(), x->now);
	route(x);
	if (x->resp->body.overflowed)
		exchange_refuse(
			x, 500, "InternalError",
			"the answer is larger than %zu MiB; read the list in pages "
			"(limit=500, kubectl get --chunk-size=500)",
			x->resp->body.max >> 20);
	exchange_release(x);
}

void apiserver_handle(void *apiserver, const struct httpd_request *req,
		      struct httpd_response *resp)
{
	handle(&(struct exchange){ .server = apiserver, .http = req, .resp = resp });
}

void apiserver_large(void *apiserver, const struct httpd_request *req,
		     struct httpd_response *resp)
{
	struct exchange x = { .server = apiserver, .http = req, .resp = resp };

	if (!is_authenticated(&x))
		exchange_refuse(&x, 401, "Unauthorized", "Unauthorized");
	else
		exchange_refuse(&x, 413, "RequestEntityTooLarge",
				"Request entity too large: limit is %d",
				APISERVER_MAX_BODY);
	exchange_release(&x);
}

void apiserver_handle_inside(void *apiserver, const struct httpd_request *req,
			     struct httpd_response *resp)
{
	handle(&(struct exchange){
		.server = apiserver, .http = req, .resp = resp, .trusted = true });
}

int exchange_write(const struct exchange *by, const char *method, const char *path,
		   const cJSON *body, cJSON **ret, struct error *err)
{
	const struct httpd_header headers[] = {
		{ "Content-Type", str_eq(method, "PATCH") ? "application/merge-patch+json"
							  : "application/json" },
		{ "User-Agent", "kftrainer" },
		{ NULL, NULL }
	};
	const char *query = strchr(path, '?');
	cleanup_arena struct arena arena = { 0 };
	const struct httpd_request req = {
		.method = method,
		.path = query ? str_slice(&arena, path, (size_t)(query - path)) : path,
		.query = query ? query + 1 : "",
		.body = (const unsigned char *)"",
		.doc = body,
		.wants_doc = true,
		.peer = "",
		.headers = headers
	};
	struct httpd_response resp = { .body.max = (size_t)64 * 1024 * 1024 };
	int rc = 0;

	handle(&(struct exchange){ .server = by->server,
				   .http = &req,
				   .resp = &resp,
				   .internal = true,
				   .trusted = true,
				   .gc = by->gc });
	if (!resp.doc)
		rc = error_set(err, ERR_FORMAT, "%s %s: not JSON", method, path);
	else if (resp.status >= 400)
		rc = error_set(err,
			       resp.status == 404   ? ERR_NOT_FOUND
			       : resp.status == 409 ? ERR_CONFLICT
						    : ERR_INVALID,
			       "%s", json_str(resp.doc, "message"));
	err->code = rc ? resp.status : err->code;
	buf_release(&resp.body);
	buf_release(&resp.headers);
	if (!rc && ret)
		*ret = STEAL(resp.doc);
	cJSON_Delete(resp.doc);
	return rc;
}

int apiserver_write(struct apiserver *s, const char *method, const char *path,
		    const cJSON *body, cJSON **ret, struct error *err)
{
	return exchange_write(&(struct exchange){ .server = s }, method, path, body, ret,
			      err);
}

/* ---- start and end ----------------------------------------------------------------- */

static int make_namespaces(struct apiserver *s, struct error *err)
{
	static const char *const names[] = { "default", "kube-system",
					     "kubeflow-system" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		cleanup_json cJSON *ns = meta_new("v1", "Namespace", NULL, names[i]);

		if (apiserver_write(s, "POST", "/api/v1/namespaces", ns, NULL, err) &&
		    error_clear_if(err, ERR_CONFLICT))
			return -1;
	}
	return 0;
}

int apiserver_new(struct apiserver **ret, const struct apiserver_conf *conf,
		  struct error *err)
{
	struct apiserver *s = xcalloc(1, sizeof(*s));
	const struct storage_conf storage = { .dir = conf->dir,
					      .max_events = conf->max_events };

	s->conf = *conf;
	s->conf.token = conf->token ? xstrdup(conf->token) : NULL;
	s->conf.pod_key = conf->pod_key ? xstrdup(conf->pod_key) : NULL;
	pthread_mutex_init(&s->schemas.lock, NULL);
	s->schemas.trainer = conf->schema;
	if (storage_open(&s->storage, &storage, err) ||
	    (!conf->refresh &&
	     (schemas_load(&s->schemas, err) || make_namespaces(s, err)))) {
		apiserver_free(s);
		return -1;
	}
	gc_resume(s);
	*ret = s;
	return 0;
}

void apiserver_stop(struct apiserver *s)
{
	storage_stop(s->storage);
}

void apiserver_free(struct apiserver *s)
{
	if (!s)
		return;
	storage_close(s->storage);
	schemas_release(&s->schemas);
	str_wipe_free((char *)s->conf.token);
	str_wipe_free((char *)s->conf.pod_key);
	free(s);
}

int64_t apiserver_cut(const struct apiserver *s)
{
	return storage_report(s->storage)->cut;
}
