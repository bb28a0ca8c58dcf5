/*
 * gs.c - gs://BUCKET/PREFIX: Google Cloud Storage; see scheme.h.
 *
 * All objects below the prefix, or the one of that name. Uses the JSON API (storage/v1),
 * with each object pinned to the generation that was listed; bytes are verified by
 * md5Hash, or crc32c where an object is composed of others. With HMAC keys
 * (ACCESS_KEY_ID, SECRET_ACCESS_KEY), and to write and remove, it uses the XML API, which
 * is S3's protocol.
 */
#include "store/gs.h"

#include <ctype.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cloud/gs_token.h"
#include "cloud/sigv4.h"
#include "net/http_retry.h"
#include "net/uri.h"
#include "store/s3_upload.h"
#include "store/scheme.h"

#define ENDPOINT "https://storage.googleapis.com"
#define FIELDS   "name,size,md5Hash,crc32c,generation"

enum { MAX_PAGES = 20000, MAX_ANSWER = 16 * 1024 * 1024, ASK_MS = 300 * 1000 };

struct store {
	struct store *s3; /* set: S3's protocol is used instead of what follows */
	struct arena arena;
	struct store_conf conf; /* to open s3 when something is removed */
	const char *endpoint, *bucket, *key;
	struct http_retrier *retrier;
	struct gs_token *token;
	struct sigv4_pair payer;
};

const char *gs_endpoint(struct arena *arena, const struct store_conf *conf)
{
	const char *given = store_env(conf, "STORAGE_EMULATOR_HOST");

	if (!given)
		given = store_env(conf, "ENDPOINT");
	if (given && !strstr(given, "://"))
		return arena_printf(arena, "https://%s", given);
	return arena_strdup(arena, given ? given : ENDPOINT);
}

int gs_find_payer(struct sigv4_pair *ret, struct arena *arena,
		  const struct store_conf *conf, struct error *err)
{
	const char *project = store_env(conf, "GOOGLE_CLOUD_QUOTA_PROJECT");

	if (!project || store_env(conf, "ACCESS_KEY_ID"))
		return 0;
	for (const char *p = project; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("-.:_", *p))
			return error_set(err, ERR_INVALID,
					 "GOOGLE_CLOUD_QUOTA_PROJECT: invalid: expected "
					 "a project's ID such as my-project-1");
	*ret = (struct sigv4_pair){ "x-goog-user-project", arena_strdup(arena, project) };
	return 0;
}

static void gs_close(struct store *s)
{
	if (!s)
		return;
	if (s->s3)
		scheme_s3.close(s->s3);
	gs_token_free(s->token);
	arena_clear(&s->arena);
	free(s);
}

static int setup(struct store *s, const struct store_conf *conf, struct error *err)
{
	const struct cloud_conf cloud = store_cloud_conf(conf);
	struct uri uri;

	s->endpoint = gs_endpoint(&s->arena, conf);
	s->conf = *conf;
	s->conf.uri = arena_strdup(&s->arena, conf->uri);
	if (store_env(conf, "ACCESS_KEY_ID"))
		return scheme_s3.open(&s->s3, conf, err);
	if (uri_parse(&uri, &s->arena, conf->uri, err))
		return -1;
	if (!*uri.host)
		return error_set(err, ERR_INVALID,
				 "no bucket: expected gs://BUCKET/PREFIX");
	if (gs_find_payer(&s->payer, &s->arena, conf, err))
		return -1;
	s->bucket = uri.host;
	s->key = uri.path;
	s->retrier = store_retrier(&s->arena, conf);
	s->token = gs_token_new(&cloud);
	return 0;
}

static int gs_open(struct store **ret, const struct store_conf *conf, struct error *err)
{
	struct store *s = xcalloc(1, sizeof(*s));

	if (setup(s, conf, err)) {
		gs_close(s);
		return -1;
	}
	*ret = s;
	return 0;
}

/* ---- requests ---- */

struct gs_request {
	const char *name; /* the object; NULL: list the bucket */
	const struct sigv4_pair *query;
	bool token_refused;
};

/* Request the bytes as stored, without decompression. */
static int make_call(struct store *s, const struct gs_request *q, struct arena *arena,
		     struct store_call *ret, struct error *err)
{
	cleanup_buf struct buf path = { .max = 64 * 1024 };
	const char **headers = arena_alloc(arena, 4 * sizeof(*headers));
	const char *token = NULL;
	size_t n = 0;

	if (gs_token_get(s->token, q->token_refused, arena, &token, err))
		return error_wrap(err, "gs://%s", s->bucket);
	headers[n++] = "Accept-Encoding: gzip";
	if (token)
		headers[n++] = arena_printf(arena, "Authorization: Bearer %s", token);
	if (s->payer.name)
		headers[n++] =
			arena_printf(arena, "%s: %s", s->payer.name, s->payer.value);
	http_escape(&path, s->bucket);
	buf_adds(&path, "/o");
	if (q->name) {
		buf_adds(&path, "/");
		http_escape(&path, q->name);
	}
	ret->headers = headers;
	ret->url = arena_printf(arena, "%s/storage/v1/b/%s?%s", s->endpoint,
				(const char *)path.data, sigv4_query(arena, q->query));
	return 0;
}

int gs_refused_access(const char *what, const char *source, const char *why,
		      struct error *err)
{
	if (!strcmp(source, "no credentials"))
		return error_set(err, ERR_DENIED,
				 "%s: access denied without credentials: set "
				 "GOOGLE_APPLICATION_CREDENTIALS, or ACCESS_KEY_ID and "
				 "SECRET_ACCESS_KEY (HMAC keys), or use workload "
				 "identity",
				 what);
	return error_set(err, ERR_DENIED,
			 "%s: access denied to the credentials of %s: grant the role "
			 "Storage Object Viewer (Storage Object User to upload); "
			 "server: %.300s",
			 what, source, why);
}

static int refused(struct store *s, const char *key, int status, const char *body,
		   struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *doc = NULL;
	const char *source = gs_token_source(s->token), *why = NULL, *what;

	if (*body && !json_parse(&doc, body, strlen(body), IGNORED))
		why = json_str(doc, "error", "message");
	why = why ? str_visible(&arena, why, false) : "";
	what = arena_printf(&arena, "gs://%s/%s", s->bucket,
			    key ? str_visible(&arena, key, false) : "");
	if (status == 404)
		error_set(err, ERR_NOT_FOUND, "%s: no such %s", what,
			  key ? "object" : "bucket");
	else if (status == 401 || status == 403)
		gs_refused_access(what, source, why, err);
	else if (status == 400 && strstr(why, "requester pays"))
		error_set(err, ERR_DENIED, "%s: " GS_NO_PAYER, what);
	else
		error_set(err, ERR_IO, "%s: HTTP %d: %.300s", what, status, why);
	err->code = status;
	return -1;
}

static int get_json(struct store *s, const char *name, const struct sigv4_pair *query,
		    cJSON **ret, struct error *err)
{
	cleanup_http_response struct http_response resp = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct store_call call = { 0 };
	struct http_request req = { .method = "GET",
				    .timeout_ms = ASK_MS,
				    .max_body = MAX_ANSWER };

	if (make_call(s, &(struct gs_request){ name, query, false }, &arena, &call, err))
		return -1;
	req.url = call.url;
	req.headers = call.headers + 1; /* without Accept-Encoding */
	if (http_retry(s->retrier, arena_printf(&arena, "gs://%s", s->bucket), &req,
		       &resp, err))
		return -1;
	if (resp.status != 200)
		return refused(s, name, resp.status, (const char *)resp.body.data, err);
	if (json_parse(ret, resp.body.data, resp.body.len, err))
		return error_wrap(err, "gs://%s", s->bucket);
	return 0;
}

/* ---- listing ---- */

static const char *hex_of(struct arena *arena, const char *base64, size_t bytes)
{
	cleanup_buf struct buf raw = { .max = 64 }, text = { .max = 128 };

	if (!base64 || base64_decode(&raw, base64, strlen(base64), IGNORED) ||
	    raw.len != bytes)
		return NULL;
	hex_encode(&text, raw.data, raw.len);
	return arena_strdup(arena, (const char *)text.data);
}

static int add_item(struct bucket_listing *g, const cJSON *item, const char *name,
		    const char *path, struct error *err)
{
	struct arena *arena = &g->to->arena;
	const char *size = json_str(item, "size");
	struct store_object o = { .path = arena_strdup(arena, path),
				  .key = arena_strdup(arena, name) };
	const char *generation = json_str(item, "generation");

	if (!size || str_int(&o.size, size, 0, INT64_MAX, IGNORED))
		return error_set(err, ERR_FORMAT, "gs: object without a size");
	o.generation = generation ? arena_strdup(arena, generation) : NULL;
	o.sum = hex_of(arena, json_str(item, "md5Hash"), 16);
	o.digest = o.sum ? STORE_MD5 : STORE_DIGEST_NONE;
	if (!o.sum) {
		o.sum = hex_of(arena, json_str(item, "crc32c"), 4);
		o.digest = o.sum ? STORE_CRC32C : STORE_DIGEST_NONE;
	}
	return store_listing_add(g->to, &o, err);
}

static int take_page(struct bucket_listing *g, const char *prefix, const cJSON *page,
		     struct error *err)
{
	const cJSON *item;

	json_each(item, json_get(page, "items")) {
		const char *name = json_str(item, "name");

		if (!name)
			return error_set(err, ERR_FORMAT, "gs: object without a name");
		if (store_check_prefix(name, prefix, err))
			return -1;
		if (bucket_listing_wants(g, name) &&
		    add_item(g, item, name, bucket_listing_path(g, name), err))
			return -1;
	}
	return 0;
}

static int list_below(struct store *s, const char *prefix, struct bucket_listing *g,
		      struct error *err)
{
	cleanup_free char *token = NULL;

	g->skip = strlen(prefix);
	for (int i = 0; i < MAX_PAGES; i++) {
		cleanup_json cJSON *page = NULL;
		const struct sigv4_pair query[] = {
			{ "fields", "nextPageToken,items(" FIELDS ")" },
			{ "maxResults", "1000" },
			{ "prefix", prefix },
			{ token ? "pageToken" : NULL, token },
			{ NULL, NULL },
		};
		const char *next;

		if (get_json(s, NULL, query, &page, err) ||
		    take_page(g, prefix, page, err))
			return -1;
		next = json_str(page, "nextPageToken");
		if (!next || !*next)
			return 0;
		if (str_eq(next, token))
			break;
		free(token);
		token = xstrdup(next);
	}
	return error_set(err, ERR_FORMAT, "gs://%s: endless listing", s->bucket);
}

static int list_object(struct store *s, const char *name, struct bucket_listing *g,
		       struct error *err)
{
	static const struct sigv4_pair query[] = { { "fields", FIELDS }, { NULL, NULL } };
	const char *slash = strrchr(name, '/');
	cleanup_json cJSON *item = NULL;

	if (get_json(s, name, query, &item, err))
		return -1;
	if (g->wanted && !g->wanted(g->ctx, name, true))
		return 0;
	return add_item(g, item, name, slash ? slash + 1 : name, err);
}

static int gather(struct store *s, struct bucket_listing *g, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct error refusal = { 0 };

	if (!*s->key || str_ends(s->key, "/"))
		return list_below(s, s->key, g, err);
	if (list_below(s, arena_printf(&arena, "%s/", s->key), g, &refusal) &&
	    (refusal.code != 403 || g->n_listed)) {
		*err = refusal;
		return -1;
	}
	if (g->n_listed || !list_object(s, s->key, g, err))
		return 0;
	if (refusal.kind)
		*err = refusal;
	return -1;
}

static int gs_list(struct store *s,
		   bool (*wanted)(void *ctx, const char *name, bool named), void *ctx,
		   struct store_listing *ret, struct error *err)
{
	struct store_listing l = { 0 };
	struct bucket_listing g = { .to = &l, .wanted = wanted, .ctx = ctx };

	if (s->s3)
		return scheme_s3.list(s->s3, wanted, ctx, ret, err);
	if (gather(s, &g, err)) {
		store_listing_release(&l);
		return -1;
	}
	store_listing_sort(&l);
	*ret = l;
	return 0;
}

/* ---- one object ---- */

static int gs_locate(struct store *s, const struct store_object *o, int status,
		     struct arena *arena, struct store_call *ret, struct error *err)
{
	const struct sigv4_pair query[] = {
		{ "alt", "media" },
		{ o->generation ? "generation" : NULL, o->generation },
		{ NULL, NULL },
	};

	if (s->s3)
		return scheme_s3.locate(s->s3, o, status, arena, ret, err);
	return make_call(s, &(struct gs_request){ o->key, query, status == 401 }, arena,
			 ret, err);
}

static int gs_correct_sum(struct store *s, const struct store_object *o,
			  struct arena *arena, struct store_object *ret,
			  struct error *err)
{
	return s->s3 ? scheme_s3.correct_sum(s->s3, o, arena, ret, err) : 0;
}

static int gs_explain(struct store *s, const struct store_object *o, int status,
		      const char *body, struct error *err)
{
	if (s->s3)
		return scheme_s3.explain(s->s3, o, status, body, err);
	refused(s, o->key, status, body, err);
	if (status == 404 && o->generation) /* there may be a later one */
		err->kind = ERR_CONFLICT;
	return -1;
}

static int gs_remove(struct store *s, struct error *err)
{
	if (!s->s3 && scheme_s3.open(&s->s3, &s->conf, err))
		return -1;
	return scheme_s3.remove(s->s3, err);
}

const struct scheme scheme_gs = {
	.name = "gs",
	.as_stored = true,
	.open = gs_open,
	.list = gs_list,
	.locate = gs_locate,
	.correct_sum = gs_correct_sum,
	.explain = gs_explain,
	.put = s3_upload,
	.remove = gs_remove,
	.close = gs_close,
};
