/* The table of schemes, and what they share; see scheme.h and store.h. */
#include "store/scheme.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "net/uri.h"

static const struct scheme *const schemes[] = {
	&scheme_file,  &scheme_gs,  &scheme_hf, &scheme_http,
	&scheme_https, &scheme_pvc, &scheme_s3,
};

struct cloud_conf store_cloud_conf(const struct store_conf *conf)
{
	return (struct cloud_conf){ .env = conf->env,
				    .ctx = conf->ctx,
				    .retry = { .http = conf->http,
					       .tries = conf->tries,
					       .on_pause = conf->say,
					       .ctx = conf->ctx } };
}

const char *store_env(const struct store_conf *conf, const char *name)
{
	const struct cloud_conf cloud = store_cloud_conf(conf);

	return cloud_env(&cloud, name);
}

struct http_retrier *store_retrier(struct arena *arena, const struct store_conf *conf)
{
	const struct cloud_conf cloud = store_cloud_conf(conf);

	return http_retrier_new(arena, &cloud.retry);
}

struct store_object store_object_copy(struct arena *arena, const struct store_object *o)
{
	struct store_object ret = *o;

	ret.path = arena_strdup(arena, o->path);
	ret.key = arena_strdup(arena, o->key);
	ret.generation = arena_strdup(arena, o->generation);
	ret.etag = arena_strdup(arena, o->etag);
	ret.sum = arena_strdup(arena, o->sum);
	return ret;
}

int store_listing_add(struct store_listing *l, const struct store_object *o,
		      struct error *err)
{
	if (l->n == STORE_MAX_OBJECTS)
		return error_set(err, ERR_LIMIT,
				 "more than %d files; use a URI with fewer files",
				 STORE_MAX_OBJECTS);
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 64;
		l->objects = xreallocarray(l->objects, l->cap, sizeof(*l->objects));
	}
	l->objects[l->n++] = *o;
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct store_object *x = a, *y = b;
	int by = strcmp(x->path, y->path);

	return by ? by : strcmp(x->key ? x->key : "", y->key ? y->key : "");
}

void store_listing_sort(struct store_listing *l)
{
	if (l->n)
		qsort(l->objects, l->n, sizeof(*l->objects), by_path);
}

void store_listing_release(struct store_listing *l)
{
	arena_clear(&l->arena);
	free(l->objects);
	*l = (struct store_listing){ 0 };
}

/* NULL: unknown. */
static const struct scheme *named_scheme(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(schemes); i++)
		if (str_eq(name, schemes[i]->name))
			return schemes[i];
	return NULL;
}

const char *const *store_headers_with(struct arena *arena, const char *const *headers,
				      const char *line)
{
	size_t n = 0;
	const char **ret;

	while (headers && headers[n])
		n++;
	ret = arena_alloc(arena, (n + 2) * sizeof(*ret));
	if (n)
		memcpy(ret, headers, n * sizeof(*ret));
	ret[n] = line;
	ret[n + 1] = NULL;
	return ret;
}

const char *const *store_headers_as_stored(struct arena *arena,
					   const char *const *headers)
{
	static const char name[] = "Accept-Encoding:";

	for (size_t i = 0; headers && headers[i]; i++)
		if (!strncasecmp(headers[i], name, strlen(name)))
			return headers;
	return store_headers_with(arena, headers, "Accept-Encoding: identity");
}

int scheme_find(const struct scheme **ret, const char *uri, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf known = { .max = 1000 };
	const char *names[N_ELEMENTS(schemes) + 1] = { 0 };
	struct uri u;

	if (uri_parse(&u, &arena, uri, err))
		return -1;
	*ret = named_scheme(u.scheme);
	if (*ret)
		return 0;
	for (size_t i = 0; i < N_ELEMENTS(schemes); i++) {
		names[i] = schemes[i]->name;
		buf_printf(&known, "%s%s://", i ? ", " : "", names[i]);
	}
	if (str_eq(u.scheme, "cache"))
		return error_set(err, ERR_UNSUPPORTED,
				 "'%s': only initialize-dataset supports cache://, in "
				 "the pod of a TrainJob; pass the URI of the data",
				 uri_shown(&arena, uri));
	return error_set(err, ERR_UNSUPPORTED, "'%s': unknown scheme '%s': expected %s%s",
			 uri_shown(&arena, uri), u.scheme, known.data,
			 nearest_hint(&arena, u.scheme, names));
}

const char *scheme_list_put(struct arena *arena)
{
	const char *names[N_ELEMENTS(schemes) + 1] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < N_ELEMENTS(schemes); i++)
		if (schemes[i]->put)
			names[n++] = arena_printf(arena, "%s://", schemes[i]->name);
	return str_join(arena, names, " or ");
}

/* The scheme's, else that of Python's requests. */
static const char *ca_file(struct arena *arena, const struct store_conf *conf,
			   const struct scheme *scheme, const char **ret_setting)
{
	static const char *const settings[] = { "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE" };
	const char *file = NULL;

	if (scheme && scheme->ca_file)
		file = scheme->ca_file(arena, conf, ret_setting);
	for (size_t i = 0; !file && i < N_ELEMENTS(settings); i++) {
		*ret_setting = settings[i];
		file = store_env(conf, settings[i]);
	}
	return file;
}

int store_http_new(struct http_client **ret, const struct store_conf *conf,
		   const struct http_conf *like, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *file = NULL, *setting;
	struct http_conf http = *like;
	const struct scheme *scheme;
	struct uri uri;

	if (uri_parse(&uri, &arena, conf->uri, err))
		return -1;
	http.http1 = true;
	scheme = named_scheme(uri.scheme);
	if (!store_env(conf, "SSL_CERT_FILE"))
		file = ca_file(&arena, conf, scheme, &setting);
	if (file && !file_exists(file))
		return error_set(err, ERR_INVALID, "%s: no such file: %s", setting, file);
	if (file) {
		http.ca_file = file;
		http.ca_setting = setting;
	}
	return http_client_new(ret, &http, err);
}

int store_check_prefix(const char *key, const char *prefix, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	if (str_starts(key, prefix))
		return 0;
	return error_set(
		err, ERR_FORMAT,
		"the server lists '%.300s', which is not below '%.300s': does it "
		"ignore the prefix?",
		str_visible(&arena, key, false), str_visible(&arena, prefix, false));
}

bool bucket_listing_wants(struct bucket_listing *g, const char *key)
{
	g->n_listed++;
	return !str_ends(key, "/") && strlen(key) > g->skip &&
	       (!g->wanted || g->wanted(g->ctx, key, false));
}

const char *bucket_listing_path(const struct bucket_listing *g, const char *key)
{
	char *ret = arena_strdup(&g->to->arena, key + g->skip), *to = ret;

	for (const char *p = ret; *p; p++)
		if (*p != '/' || (to > ret && to[-1] != '/'))
			*to++ = *p;
	*to = 0;
	return ret;
}
