/* registry.c - kinds of registries, the session with one, and its calls (registry.h). */
#include "registry/registry_impl.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "net/uri.h"
#include "registry/track_impl.h"

enum { CALL_MS = 60 * 1000, MAX_ANSWER = 16 * 1024 * 1024, MAX_SAID = 400 };

#define MLFLOW_REFUSED "'/:" /* its searches have no form for the first */

static const struct registry_kind kinds[] = {
	{ "model-registry", "https", kubeflow_credentials, NULL, NULL, kubeflow_register,
	  kubeflow_probe, NULL, NULL },
	{ "model-registry+http", "http", kubeflow_credentials, NULL, NULL,
	  kubeflow_register, kubeflow_probe, NULL, NULL },
	{ "mlflow+http", "http", mlflow_credentials, NULL, NULL, mlflow_register,
	  mlflow_probe, &mlflow_track, MLFLOW_REFUSED },
	{ "mlflow+https", "https", mlflow_credentials, "MLFLOW_TRACKING_SERVER_CERT_PATH",
	  "MLFLOW_TRACKING_INSECURE_TLS", mlflow_register, mlflow_probe, &mlflow_track,
	  MLFLOW_REFUSED },
};

/* ---- what is known before any call ---- */

static int find_kind(const struct registry_kind **ret, struct uri *uri,
		     struct arena *arena, const char *text, struct error *err)
{
	if (uri_parse(uri, arena, text, err))
		return error_wrap(err, "registry");
	for (size_t i = 0; i < N_ELEMENTS(kinds); i++)
		if (str_eq(uri->scheme, kinds[i].scheme))
			*ret = &kinds[i];
	if (!*ret)
		return error_set(err, ERR_UNSUPPORTED,
				 "'%s': not a model registry: use model-registry://HOST, "
				 "model-registry+http://HOST, mlflow+https://HOST or "
				 "mlflow+http://HOST",
				 uri_shown(arena, text));
	if (!*uri->host || strchr(uri->host, '@') || uri->query || uri->fragment)
		return error_set(
			err, ERR_INVALID,
			"'%s': expected %s://HOST[:PORT], with credentials in the "
			"environment",
			uri_shown(arena, text), uri->scheme);
	return 0;
}

static int check_text(const char *what, const char *text, size_t max, bool lines,
		      struct error *err)
{
	size_t len = strlen(text);

	if (!len)
		return error_set(err, ERR_INVALID, "%s is empty", what);
	if (len > max)
		return error_set(err, ERR_LIMIT,
				 "%s has %zu bytes; at most %zu are allowed", what, len,
				 max);
	if (!utf8_valid(text, len))
		return error_set(err, ERR_INVALID, "%s is not UTF-8", what);
	if (str_has_control(text, lines ? "\n\t" : ""))
		return error_set(err, ERR_INVALID, "%s has a control character", what);
	return 0;
}

static int check_refused(const char *refused, const char *what, const char *text,
			 struct error *err)
{
	const char *at = text && refused ? strpbrk(text, refused) : NULL;

	if (!at)
		return 0;
	return error_set(err, ERR_INVALID, "%s '%.200s': MLflow takes none with %c", what,
			 text, *at);
}

char *registry_clean(const char *uri, const char *name)
{
	const struct registry_kind *kind;

	return registry_find_kind(&kind, uri, IGNORED) || !kind->track
		       ? xstrdup(name)
		       : kind->track->name(name);
}

/* MLflow takes letters of all scripts in a property's name, not so in a metric's. */
static int check_name(const char *uri, const char *name, struct error *err)
{
	cleanup_free char *text = xstrdup(name), *clean = NULL;

	for (char *p = text; *p; p++)
		if (*p & 0x80)
			*p = 'x';
	clean = registry_clean(uri, text);
	if (str_eq(clean, text))
		return 0;
	return error_set(
		err, ERR_INVALID,
		"MLflow takes letters, digits and \"_-. :/\" in its name, as in '%s'",
		clean);
}

static int check_properties(const char *uri, const struct registry_model *m,
			    struct error *err)
{
	if (m->n_properties > REGISTRY_MAX_PROPERTIES)
		return error_set(err, ERR_LIMIT, "more than %d properties",
				 REGISTRY_MAX_PROPERTIES);
	for (size_t i = 0; i < m->n_properties; i++) {
		const struct registry_property *p = &m->properties[i];

		if (check_text("the name of a property", p->name, REGISTRY_MAX_NAME,
			       false, err) ||
		    (*p->value &&
		     check_text("its value", p->value, REGISTRY_MAX_VALUE, true, err)) ||
		    check_name(uri, p->name, err))
			return error_wrap(err, "property '%.60s'", p->name);
	}
	return 0;
}

int registry_check(const struct registry_conf *conf, const struct registry_model *m,
		   struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const struct registry_kind *kind = NULL;
	struct uri uri;

	if (find_kind(&kind, &uri, &arena, conf->uri, err))
		return -1;
	if (check_text("the model's name", m->name, REGISTRY_MAX_NAME, false, err) ||
	    (m->version &&
	     check_text("the version", m->version, REGISTRY_MAX_NAME, false, err)) ||
	    (m->description && check_text("the description", m->description,
					  REGISTRY_MAX_VALUE, true, err)))
		return -1;
	if (check_refused(kind->refused, "the model's name", m->name, err) ||
	    check_refused(kind->refused ? "'" : NULL, "the version", m->version, err))
		return -1;
	return check_properties(conf->uri, m, err);
}

/* ---- calls ---- */

const char *registry_env(const struct registry *r, const char *name)
{
	const char *value = r->conf->env ? r->conf->env(r->conf->ctx, name) : NULL;

	return value && *value ? value : NULL;
}

const char *registry_escape(struct registry *r, const char *value)
{
	cleanup_buf struct buf out = { .max = 4 * REGISTRY_MAX_VALUE };

	http_escape(&out, value);
	return arena_strdup(r->arena, (char *)out.data);
}

static bool expected(int status)
{
	return (status >= 200 && status < 300) || status == 400 || status == 404 ||
	       status == 409;
}

/* A member `message` in both kinds. */
const char *registry_said(struct arena *arena, const cJSON *doc)
{
	const char *text = json_str(doc, "message");

	if (!text || !*text)
		return "";
	text = str_at_most(arena, text, MAX_SAID);
	return arena_printf(arena, ": %s", str_visible(arena, text, false));
}

/* The same, or the line of text of a gateway before the server: "RBAC: access denied". */
static const char *said(struct arena *arena, const cJSON *doc, const struct buf *body)
{
	const char *text = body->len ? (const char *)body->data : "<";
	size_t len = strcspn(text, "\r\n");

	if (doc || *text == '<' || len > MAX_SAID ||
	    text[len + strspn(text + len, "\r\n")])
		return registry_said(arena, doc);
	return arena_printf(arena, ": %s",
			    str_visible(arena, str_slice(arena, text, len), false));
}

static int unexpected(struct registry *r, int status, const cJSON *doc,
		      const struct buf *body, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *text = said(&arena, doc, body);

	if (status == 401 || status == 403)
		return error_set(err, ERR_DENIED, "%s: status %d, %s%s", r->shown, status,
				 r->headers[2] ? "the credentials are not accepted"
					       : "credentials are needed",
				 text);
	if (status >= 300 && status < 400)
		return error_set(
			err, ERR_FORMAT,
			"%s: redirects to another address (status %d): use that one",
			r->shown, status);
	return error_set(err, ERR_FORMAT, "%s: status %d%s", r->shown, status, text);
}

int registry_call(struct registry *r, const struct registry_call *call,
		  struct registry_answer *ret, struct error *err)
{
	cleanup_http_response struct http_response answer = { 0 };
	cleanup_json cJSON *doc = NULL;
	char *body = call->body ? json_text(call->body) : NULL;
	const struct http_request req = {
		.method = call->method,
		.url = arena_printf(r->arena, "%s%s", r->base, call->path),
		.headers = r->headers,
		.body = body,
		.body_len = body ? strlen(body) : 0,
		.once = call->is_done != NULL,
		.timeout_ms = r->conf->timeout_ms ? r->conf->timeout_ms : CALL_MS,
		.max_body = MAX_ANSWER
	};
	const struct http_retry_call q = {
		.what = r->shown, .req = &req, .is_done = call->is_done, .ctx = call->ctx
	};
	int rc = http_retry_call(r->retrier, &q, &answer, err);

	free(body);
	if (rc)
		return -1;
	if (r->answered_ms)
		__atomic_store_n(r->answered_ms, clock_ms(), __ATOMIC_RELAXED);
	*ret = (struct registry_answer){ .status = answer.status };
	if (!answer.status)
		return 0;
	rc = json_parse(&doc, answer.body.data, answer.body.len, err);
	if (!expected(answer.status))
		return unexpected(r, answer.status, doc, &answer.body, err);
	if (rc || !cJSON_IsObject(doc)) {
		error_set(err, ERR_FORMAT,
			  "%s: the answer is not a JSON object (status %d): is this the "
			  "address of a registry?",
			  r->shown, answer.status);
		err->code = answer.status;
		return -1;
	}
	ret->doc = STEAL(doc);
	return 0;
}

int registry_ask(struct registry *r, const char *method, const char *path,
		 const cJSON *body, struct registry_answer *ret, struct error *err)
{
	const struct registry_call call = { .method = method,
					    .path = path,
					    .body = body };

	return registry_call(r, &call, ret, err);
}

void registry_answer_release(struct registry_answer *a)
{
	cJSON_Delete(STEAL(a->doc));
}

int registry_refused(struct registry *r, const struct registry_answer *answer,
		     const char *what, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	error_set(err, ERR_INVALID, "%s: cannot register %s '%s'%s", r->shown, what,
		  str_visible(&arena, r->model->name, false),
		  registry_said(&arena, answer->doc));
	err->code = answer->status;
	return -1;
}

int registry_conflict(struct registry *r, const char *version, const char *digest,
		      struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *which = digest ? arena_printf(&arena, " (digest %.80s)",
						  str_visible(&arena, digest, false))
				   : "";

	return error_set(err, ERR_CONFLICT,
			 "%s: version '%s' of '%s' exists with other files%s: choose "
			 "another --version",
			 r->shown, version, r->model->name, which);
}

/* ---- the session ---- */

static int open_client(struct registry *r, struct error *err)
{
	const struct registry_kind *kind = r->kind;
	const char *insecure =
		kind->insecure_setting ? registry_env(r, kind->insecure_setting) : NULL;
	const char *ca = kind->ca_setting ? registry_env(r, kind->ca_setting) : NULL;
	const struct http_conf http = { .user_agent = r->conf->user_agent,
					.ca_file = ca,
					.ca_setting = ca ? kind->ca_setting : NULL,
					.insecure =
						insecure && str_eq(insecure, "true") };

	return http_client_new(&r->http, &http, err);
}

static int fill_headers(struct registry *r, struct error *err)
{
	const char *secret = NULL;

	r->headers[0] = "Content-Type: application/json";
	r->headers[1] = "Accept: application/json";
	if (r->kind->credentials(r, &secret, err))
		return -1;
	if (secret)
		r->headers[2] = arena_printf(r->arena, "Authorization: %s", secret);
	str_wipe(secret);
	return 0;
}

int registry_find_kind(const struct registry_kind **ret, const char *uri,
		       struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct uri parsed;

	*ret = NULL;
	return find_kind(ret, &parsed, &arena, uri, err);
}

int registry_open(struct registry *r, struct error *err)
{
	struct uri uri;
	const char *path;

	r->kind = NULL;
	if (find_kind(&r->kind, &uri, r->arena, r->conf->uri, err))
		return -1;
	path = str_slice(r->arena, uri.path, str_length_before(uri.path, '/'));
	r->base = arena_printf(r->arena, "%s://%s%s%s", r->kind->transport, uri.host,
			       *path ? "/" : "", path);
	r->shown = uri_shown(r->arena, r->conf->uri);
	if (fill_headers(r, err) || open_client(r, err))
		return -1;
	r->retrier = http_retrier_new(r->arena,
				      &(struct http_retry_conf){ .http = r->http,
								 .tries = r->conf->tries,
								 .on_pause = r->conf->say,
								 .ctx = r->conf->ctx });
	return 0;
}

void registry_close(struct registry *r)
{
	http_client_free(r->http);
	str_wipe(r->headers[2]);
}

int registry_probe(const struct registry_conf *conf, const struct registry_model *m,
		   struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct registry r = { .conf = conf, .model = m, .arena = &arena };
	int rc;

	if (registry_check(conf, m, err) || registry_open(&r, err))
		return -1;
	rc = r.kind->probe(&r, err);
	registry_close(&r);
	return rc;
}

int registry_register(const struct registry_conf *conf, const struct registry_model *m,
		      struct arena *arena, struct registry_result *ret, struct error *err)
{
	cleanup_arena struct arena own = { 0 };
	struct registry r = { .conf = conf, .model = m, .arena = &own };
	int rc;

	if (registry_check(conf, m, err) || registry_open(&r, err))
		return -1;
	rc = r.kind->run(&r, ret, err);
	if (!rc)
		ret->version = arena_strdup(arena, ret->version);
	registry_close(&r);
	return rc;
}
