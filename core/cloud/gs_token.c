/* Gets and renews access tokens for Google Cloud Storage; see gs_token.h. */
#include "cloud/gs_token.h"

#include <errno.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cloud/sigv4.h"
#include "cloud/token_cache.h"
#include "crypto/sign.h"

#define METADATA_HOST "169.254.169.254"
#define METADATA_PATH "/computeMetadata/v1/instance/service-accounts/default/token"
#define SCOPE         "https://www.googleapis.com/auth/devstorage.read_write"
#define TOKEN_URI     "https://oauth2.googleapis.com/token"

enum {
	MAX_FILE = 64 * 1024,
	MAX_ANSWER = 64 * 1024,
	NEAR_MS = 2000,
	STARTING_TRIES = 4, /* in 7.5 s */
	ASK_MS = 30 * 1000,
	JWT_S = 3600,
	LONGEST_S = 365 * 24 * 3600,
};

struct gs_token {
	struct arena arena;
	const char *file, *home, *metadata;
	bool no_metadata;
	struct http_retrier *retrier;
	struct http_client *direct; /* without a proxy */
	struct token_cache cache;
	/* guarded by its lock */
	int64_t expires; /* seconds since 1970; 0: nothing was found */
	char *token;
	const char *source;
};

static const char *keep(struct gs_token *t, const struct cloud_conf *conf,
			const char *name)
{
	const char *value = cloud_env(conf, name);

	return value ? arena_strdup(&t->arena, value) : NULL;
}

static int renew(void *ctx, int64_t *ret_expires, struct error *err);

struct gs_token *gs_token_new(const struct cloud_conf *conf)
{
	struct gs_token *t = xcalloc(1, sizeof(*t));
	const char *off = keep(t, conf, "NO_GCE_CHECK");

	t->file = keep(t, conf, "GOOGLE_APPLICATION_CREDENTIALS");
	t->home = keep(t, conf, "HOME");
	t->metadata = keep(t, conf, "GCE_METADATA_HOST");
	t->no_metadata = off && !strcasecmp(off, "true");
	t->retrier = http_retrier_new(&t->arena, &conf->retry);
	t->source = "no credentials";
	token_cache_init(&t->cache, renew, t);
	return t;
}

void gs_token_free(struct gs_token *t)
{
	if (!t)
		return;
	http_client_free(t->direct);
	free(t->token);
	token_cache_release(&t->cache);
	arena_clear(&t->arena);
	free(t);
}

/* ---- answers ---- */

static int take_answer(struct gs_token *t, const struct http_response *r,
		       const char *hint, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *doc = NULL;
	const char *token, *why;
	int64_t lasts;

	if (json_parse(&doc, r->body.data, r->body.len, err))
		return error_wrap(err, "%s: HTTP %d", t->source, r->status);
	token = json_str(doc, "access_token");
	if (r->status != 200 || !token || !*token || strpbrk(token, "\r\n")) {
		why = json_str(doc, "error_description");
		return error_set(err, ERR_DENIED, "%s: no token: HTTP %d: %.200s; %s",
				 t->source, r->status,
				 why ? str_visible(&arena, why, false) : "", hint);
	}
	free(t->token);
	t->token = xstrdup(token);
	lasts = json_int(doc, JWT_S, "expires_in");
	lasts = lasts < LONGEST_S ? lasts : LONGEST_S;
	t->expires = clock_now() + (lasts > 0 ? lasts : 0);
	return 0;
}

static int ask_form(struct gs_token *t, const char *url, const struct sigv4_pair *form,
		    const char *hint, struct error *err)
{
	static const char *const headers[] = {
		"Content-Type: application/x-www-form-urlencoded", NULL
	};
	cleanup_http_response struct http_response resp = { 0 };
	cleanup_arena struct arena arena = { 0 };
	const char *body = sigv4_query(&arena, form);
	const struct http_request req = { .method = "POST",
					  .url = url,
					  .headers = headers,
					  .body = body,
					  .body_len = strlen(body),
					  .timeout_ms = ASK_MS,
					  .max_body = MAX_ANSWER };

	if (http_retry(t->retrier, t->source, &req, &resp, err))
		return -1;
	return take_answer(t, &resp, hint, err);
}

/* ---- files ---- */

static void add_json(struct buf *out, const cJSON *doc)
{
	cleanup_buf struct buf text = { .max = MAX_FILE };

	json_print(&text, doc);
	base64url_encode(out, text.data, text.len);
}

static int make_jwt(struct buf *out, const cJSON *key, const char *audience,
		    struct error *err)
{
	const char *email = json_str(key, "client_email");
	const char *pem = json_str(key, "private_key");
	const char *id = json_str(key, "private_key_id");
	cleanup_json cJSON *head = cJSON_CreateObject(), *claims = cJSON_CreateObject();
	cleanup_buf struct buf signature = { .max = 4096 };

	if (!email || !pem)
		return error_set(err, ERR_INVALID,
				 "client_email or private_key is missing");
	json_put_str(head, "RS256", "alg");
	json_put_str(head, "JWT", "typ");
	if (id)
		json_put_str(head, id, "kid");
	json_put_str(claims, email, "iss");
	json_put_str(claims, SCOPE, "scope");
	json_put_str(claims, audience, "aud");
	json_put_int(claims, clock_now(), "iat");
	json_put_int(claims, clock_now() + JWT_S, "exp");
	add_json(out, head);
	buf_adds(out, ".");
	add_json(out, claims);
	if (sign_rs256(&signature, pem, out->data, out->len, err))
		return -1;
	buf_adds(out, ".");
	base64url_encode(out, signature.data, signature.len);
	return buf_check(out, "the token request", err);
}

static int from_account(struct gs_token *t, const cJSON *key, struct error *err)
{
	const char *url = json_str(key, "token_uri");
	cleanup_buf struct buf jwt = { .max = MAX_FILE };

	url = url ? url : TOKEN_URI;
	if (make_jwt(&jwt, key, url, err))
		return error_wrap(err, "%s", t->source);
	return ask_form(
		t, url,
		(const struct sigv4_pair[]){
			{ "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer" },
			{ "assertion", (const char *)jwt.data },
			{ NULL, NULL } },
		"is the service account's key deleted, or this machine's clock wrong?",
		err);
}

static int from_user(struct gs_token *t, const cJSON *key, struct error *err)
{
	const char *id = json_str(key, "client_id"), *secret, *refresh, *url;

	secret = json_str(key, "client_secret");
	refresh = json_str(key, "refresh_token");
	url = json_str(key, "token_uri");
	if (!id || !secret || !refresh)
		return error_set(err, ERR_INVALID, "%s: refresh_token is missing",
				 t->source);
	return ask_form(t, url ? url : TOKEN_URI,
			(const struct sigv4_pair[]){ { "grant_type", "refresh_token" },
						     { "client_id", id },
						     { "client_secret", secret },
						     { "refresh_token", refresh },
						     { NULL, NULL } },
			"log in again: gcloud auth application-default login", err);
}

static int from_file(struct gs_token *t, struct error *err)
{
	cleanup_buf struct buf text = { .max = MAX_FILE };
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *key = NULL;
	const char *path = t->file, *type;

	t->source = "GOOGLE_APPLICATION_CREDENTIALS";
	if (!path && t->home) {
		path = path_join(&arena, t->home,
				 ".config/gcloud/application_default_credentials.json");
		t->source = "application_default_credentials.json";
		if (!file_exists(path))
			return 0;
	}
	if (!path)
		return 0;
	if (file_read(&text, path, err) || json_parse(&key, text.data, text.len, err))
		return error_wrap(err, "%s", t->source);
	type = json_str(key, "type");
	if (str_eq(type, "service_account"))
		return from_account(t, key, err);
	if (str_eq(type, "authorized_user"))
		return from_user(t, key, err);
	return error_set(err, ERR_UNSUPPORTED,
			 "%s: type '%.40s' is not supported: expected service_account or "
			 "authorized_user",
			 t->source, type ? str_visible(&arena, type, false) : "");
}

/* Other servers at that address do not send this header. */
static int on_flavor(void *ctx, int status, const char *name, const char *value,
		     struct error *err)
{
	bool *is_google = ctx;

	(void)status, (void)err;
	if (!strcasecmp(name, "Metadata-Flavor"))
		*is_google = !strcmp(value, "Google");
	return 0;
}

/* GKE's takes some seconds after a pod's start: it refuses connections, or answers 5xx. */
static int ask_metadata(struct gs_token *t, const struct http_request *req,
			struct http_response *ret)
{
	for (int tried = 0;; tried++) {
		struct error why = { 0 };
		int rc = http_do(t->direct, req, ret, &why);

		if (!(rc ? why.code == ECONNREFUSED : retry_status(ret->status)) ||
		    t->token || tried == STARTING_TRIES ||
		    stop_wait(retry_pause(tried, -1)))
			return rc;
		http_response_release(ret);
	}
}

/* Outside Google Cloud: no response, or another server's, is not an error. */
static int from_metadata(struct gs_token *t, struct error *err)
{
	static const char *const headers[] = { "Metadata-Flavor: Google", NULL };
	const struct http_conf conf = { .proxy = "", .http1 = true };
	cleanup_http_response struct http_response resp = { 0 };
	cleanup_arena struct arena arena = { 0 };
	bool is_google = false;
	const struct http_request req = {
		.method = "GET",
		.url = arena_printf(&arena, "http://%s" METADATA_PATH,
				    t->metadata ? t->metadata : METADATA_HOST),
		.headers = headers,
		.timeout_ms = NEAR_MS,
		.max_body = MAX_ANSWER,
		.on_header = on_flavor,
		.ctx = &is_google,
	};

	if (t->no_metadata)
		return 0;
	if (!t->direct && http_client_new(&t->direct, &conf, err))
		return -1;
	if (ask_metadata(t, &req, &resp) || resp.status == 404 || !is_google)
		return 0;
	t->source = "the metadata server";
	return take_answer(
		t, &resp,
		"is the pod's service account bound to a Google one (workload identity)?",
		err);
}

/* ---- all sources ---- */

static int renew(void *ctx, int64_t *ret_expires, struct error *err)
{
	struct gs_token *t = ctx;

	t->expires = 0;
	if (from_file(t, err) || (!t->expires && from_metadata(t, err)))
		return -1;
	if (!t->expires &&
	    t->token) /* the source may be away; the token is used until it expires */
		return error_set(err, ERR_IO,
				 "%s: no answer that has a token, as it had before",
				 t->source);
	if (!t->expires)
		t->source = "no credentials";
	*ret_expires = t->expires;
	return 0;
}

int gs_token_get(struct gs_token *t, bool refused, struct arena *arena, const char **ret,
		 struct error *err)
{
	if (token_cache_lock(&t->cache, refused, err))
		return -1;
	*ret = t->token ? arena_strdup(arena, t->token) : NULL;
	token_cache_unlock(&t->cache);
	return 0;
}

const char *gs_token_source(struct gs_token *t)
{
	const char *ret;

	pthread_mutex_lock(&t->cache.lock);
	ret = t->source;
	pthread_mutex_unlock(&t->cache.lock);
	return ret;
}
