/*
 * kube.c - struct kube: the rate limit, sending of requests with retries, and the errors
 * of responses.
 */
#include "kube/kube.h"

#include <errno.h>
#include <string.h>

#include "api/proto.h"
#include "api/strip.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kube/kube_impl.h"
#include "kube/named.h"
#include "net/uri.h"

enum {
	DEFAULT_TIMEOUT_MS = 30 * 1000,
	BUSY_TRIES = 5,
	BUSY_MOST_MS = 60 * 1000, /* longest wait for one Retry-After */
	AGAIN_MS = 200,
	HTTP_CONFLICT = 409,
	SHOWN_BODY = 200,
};

const struct metric kube_requests_total = {
	METRIC_COUNTER,
	"rest_client_requests_total",
	"Number of HTTP requests, partitioned by status code, method, and host.",
	{ "code", "host", "method", NULL },
	NULL,
	0,
};

static const char *const *copy_list(struct kube_config *to, const char *const *list)
{
	const char **ret;
	size_t n = 0;

	if (!list)
		return NULL;
	while (list[n])
		n++;
	ret = arena_alloc(&to->arena, (n + 1) * sizeof(*ret));
	for (size_t i = 0; i < n; i++)
		ret[i] = arena_strdup(&to->arena, list[i]);
	return ret;
}

/* `doc` of the copy has only the settings of the exec plugin. */
static void copy_config(struct kube_config *to, const struct kube_config *from)
{
	*to = (struct kube_config){ .insecure = from->insecure };
	to->server = arena_strdup(&to->arena, from->server);
	to->ca_pem = arena_strdup(&to->arena, from->ca_pem);
	to->ca_file = arena_strdup(&to->arena, from->ca_file);
	to->tls_server_name = arena_strdup(&to->arena, from->tls_server_name);
	to->proxy_url = arena_strdup(&to->arena, from->proxy_url);
	to->ns = arena_strdup(&to->arena, from->ns ? from->ns : "default");
	to->cert_pem = arena_strdup(&to->arena, from->cert_pem);
	to->key_pem = arena_strdup(&to->arena, from->key_pem);
	to->token = arena_strdup(&to->arena, from->token);
	to->token_file = arena_strdup(&to->arena, from->token_file);
	to->username = arena_strdup(&to->arena, from->username);
	to->password = arena_strdup(&to->arena, from->password);
	to->impersonate = arena_strdup(&to->arena, from->impersonate);
	to->impersonate_uid = arena_strdup(&to->arena, from->impersonate_uid);
	to->impersonate_groups = copy_list(to, from->impersonate_groups);
	to->impersonate_extra = copy_list(to, from->impersonate_extra);
	to->context = arena_strdup(&to->arena, from->context);
	to->dir = arena_strdup(&to->arena, from->dir);
	if (!from->exec)
		return;
	to->doc = cJSON_CreateObject();
	to->exec = json_put(to->doc, json_dup(from->exec), "exec");
	to->exec_config = json_put(to->doc, json_dup(from->exec_config), "config");
}

static const char *host_of(struct arena *arena, const char *server)
{
	const char *host = strstr(server, "://");

	host = host ? host + 3 : server;
	return str_slice(arena, host, strcspn(host, "/"));
}

int kube_new(struct kube **ret, const struct kube_config *config,
	     const struct kube_opts *opts, struct error *err)
{
	struct kube *k;

	if (!opts->inside.handle && (!config->server || !*config->server))
		return error_set(err, ERR_INVALID, "no API server specified");
	k = xcalloc(1, sizeof(*k));
	copy_config(&k->config, config);
	k->opts = *opts;
	k->max_wait_ms = opts->timeout_ms;
	if (!k->opts.timeout_ms)
		k->opts.timeout_ms = DEFAULT_TIMEOUT_MS;
	if (k->opts.burst < 1)
		k->opts.burst = 1;
	k->user_agent = xstrdup(opts->user_agent ? opts->user_agent : "kftrainer");
	k->opts.user_agent = k->user_agent;
	k->opts.named = arena_strdup(&k->config.arena, opts->named);
	k->opts.inside.after_stop = opts->after_stop;
	if (opts->inside.handle)
		k->config.server = "";
	k->host = host_of(&k->config.arena, k->config.server);
	k->tokens = (double)k->opts.burst;
	k->refilled_ms = clock_ms();
	pthread_mutex_init(&k->lock, NULL);
	if (!opts->inside.handle && kube_auth_init(k, err)) {
		kube_free(k);
		return error_wrap(err, "%s", config->server);
	}
	*ret = k;
	return 0;
}

void kube_free(struct kube *k)
{
	if (!k)
		return;
	kube_auth_release(k);
	kube_kinds_release(k);
	kube_config_release(&k->config);
	pthread_mutex_destroy(&k->lock);
	if (k->opts.inside.release)
		k->opts.inside.release(k->opts.inside.ctx);
	free(k->user_agent);
	free(k);
}

bool kube_is_inside(const struct kube *k)
{
	return k->opts.inside.handle != NULL;
}

const char *kube_named(const struct kube *k)
{
	return k->opts.named ? k->opts.named : kube_is_inside(k) ? " --local" : "";
}

const char *kube_job_named(const struct kube *k, struct arena *arena, const char *ns,
			   const char *name)
{
	const char *option = kube_named(k);

	if (str_starts(option, " --from "))
		return arena_printf(arena, "%s%s", name, option);
	return arena_printf(arena, "%s%s%s -n %s", option + !!*option, *option ? " " : "",
			    name, ns);
}

const char *kube_jobs_named(const struct kube *k, struct arena *arena, const char *ns)
{
	const char *option = kube_named(k);

	return str_starts(option, " --from ")
		       ? option
		       : arena_printf(arena, "%s -n %s", option, ns);
}

/* Sleep. When the process is asked to stop: ERR_STOPPED, or after_stop: 1 s at most. */
static int pause_ms(struct kube *k, const struct kube_request *req, int64_t ms,
		    struct error *err)
{
	int64_t until = clock_ms() + ms, left;

	if (ms <= 0 || !stop_wait(ms))
		return 0;
	if (!k->opts.after_stop)
		return error_set(err, ERR_STOPPED, "%s: stopped", req->what);
	left = until - clock_ms();
	clock_sleep_ms(left < 1000 ? left : 1000);
	return 0;
}

/* Reserve a token of the rate limit, perhaps a future one. Returns ms until it is due. */
static int64_t take_token(struct kube *k)
{
	double most = (double)k->opts.burst;
	int64_t now, ret;

	pthread_mutex_lock(&k->lock);
	now = clock_ms();
	k->tokens += (double)(now - k->refilled_ms) * k->opts.qps / 1000;
	k->tokens = (k->tokens < most ? k->tokens : most) - 1;
	k->refilled_ms = now;
	ret = k->tokens < 0 ? (int64_t)(-k->tokens * 1000 / k->opts.qps) : 0;
	pthread_mutex_unlock(&k->lock);
	return ret;
}

static void give_token(struct kube *k)
{
	pthread_mutex_lock(&k->lock);
	k->tokens++;
	pthread_mutex_unlock(&k->lock);
}

/* Wait for a token of the rate limit; ERR_BUSY if that exceeds the client's timeout. */
static int limit(struct kube *k, const struct kube_request *req, struct error *err)
{
	int64_t ms;

	if (k->opts.qps <= 0 || req->open_ended)
		return 0;
	ms = take_token(k);
	if (!k->max_wait_ms || ms <= k->max_wait_ms)
		return pause_ms(k, req, ms, err);
	give_token(k);
	return error_set(err, ERR_BUSY,
			 "%s: too many calls are waiting for the client-side rate limit",
			 req->what);
}

/* ---- errors of responses ---- */

static enum error_kind kind_of_status(int code, const char *reason, const char *message)
{
	static const struct {
		int code;
		enum error_kind kind;
	} kinds[] = {
		{ 400, ERR_INVALID },     { 401, ERR_DENIED },
		{ 403, ERR_DENIED },      { 404, ERR_NOT_FOUND },
		{ 405, ERR_UNSUPPORTED }, { 406, ERR_UNSUPPORTED },
		{ 408, ERR_TIMEOUT },     { 409, ERR_CONFLICT },
		{ 410, ERR_EXPIRED },     { 413, ERR_LIMIT },
		{ 415, ERR_UNSUPPORTED }, { 422, ERR_INVALID },
		{ 429, ERR_BUSY },
	};

	if (code == 403 && message && str_starts(message, "admission webhook "))
		return ERR_INVALID;
	if (code == 409 && str_eq(reason, "AlreadyExists"))
		return ERR_EXISTS;
	for (size_t i = 0; i < N_ELEMENTS(kinds); i++)
		if (kinds[i].code == code)
			return kinds[i].kind;
	return code >= 500 ? ERR_BUSY : ERR_IO;
}

int kube_status_error(const char *what, int code, const cJSON *status, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *message = json_str(status, "message");
	enum error_kind kind = kind_of_status(code, json_str(status, "reason"), message);

	if (message && *message)
		error_set(err, kind, "%s: %s%s", what, str_visible(&arena, message, true),
			  code == 401 ? " (the API server does not accept these "
					"credentials; have they expired?)"
				      : "");
	else
		error_set(err, kind, "%s: the API server returned %d", what, code);
	err->code = code;
	return -1;
}

/* The API server's body for a group or version that it does not serve. */
#define NO_SUCH_GROUP "404 page not found"

/* Error of a response that is no Status: from a proxy, or from no API server at all. */
static int fail_text(const char *what, const struct http_response *resp,
		     struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	char *text =
		str_visible(&arena, str_trim(&arena, (char *)resp->body.data), false);
	size_t cut = strlen(text);

	kube_status_error(what, resp->status, NULL, err);
	if (!cut)
		return -1;
	if (resp->status == 404 && str_eq(text, NO_SUCH_GROUP)) {
		error_set(err, err->kind,
			  "%s: the server could not find the requested resource", what);
		err->code = resp->status;
		return -1;
	}
	cut = utf8_cut(text, cut, SHOWN_BODY);
	error_set(err, err->kind, "%s: the API server returned %d: %.*s%s", what,
		  resp->status, (int)cut, text, text[cut] ? " ..." : "");
	err->code = resp->status;
	return -1;
}

void kube_clean(const struct kube_ref *ref, char *text, size_t len)
{
	if (len && (str_eq(ref->kind, "Pod") || str_eq(ref->kind, "Event")))
		strip_nul(text, len);
}

/* A login page's, mostly; it is not followed: credentials are for the API server only. */
static int fail_redirect(const char *what, const struct http_response *resp,
			 struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *to = resp->location;

	kube_status_error(what, resp->status, NULL, err);
	if (to)
		error_set(err, err->kind,
			  "%s: the API server returned %d, a redirect to %s; is its "
			  "address right, and does a proxy want a login?",
			  what, resp->status, uri_shown(&arena, to));
	err->code = resp->status;
	return -1;
}

/* Decode a Status in protobuf or JSON, whichever the server sent. */
static int read_status(cJSON **ret, const struct http_response *resp, struct error *err)
{
	const struct buf *body = &resp->body;

	if (resp->doc) {
		*ret = json_dup(resp->doc);
		return 0;
	}
	if (proto_is_object(body->data, body->len))
		return proto_object(ret, body->data, body->len, NULL, err);
	return json_parse(ret, body->data, body->len, err);
}

int kube_answer_error(const struct kube_request *req, const struct http_response *resp,
		      struct error *err)
{
	cleanup_json cJSON *status = NULL;

	if (resp->status < 400)
		return fail_redirect(req->what, resp, err);
	if (read_status(&status, resp, IGNORED) ||
	    !str_eq(json_str(status, "kind"), "Status"))
		return fail_text(req->what, resp, err);
	kube_status_error(req->what, resp->status, status, err);
	if (req->ret_refusal)
		*req->ret_refusal = STEAL(status);
	return -1;
}

/* ---- sending ---- */

struct request_state {
	const struct kube_request *req;
	bool answered; /* on_answer has been called */
	bool began;    /* on_data has been called: do not resend */
};

static int on_header(void *ctx, int status, const char *name, const char *value,
		     struct error *err)
{
	struct request_state *a = ctx;

	(void)name, (void)value, (void)err;
	if (status < 300 && !a->answered && a->req->on_answer) {
		a->answered = true;
		a->req->on_answer(a->req->ctx);
	}
	return 0;
}

static int on_data(void *ctx, const void *data, size_t len, struct error *err)
{
	struct request_state *a = ctx;

	a->began = true;
	return a->req->on_data(a->req->ctx, data, len, err);
}

static void count(struct kube *k, const struct kube_request *req, int status)
{
	char code[16] = "<error>";

	if (status)
		snprintf(code, sizeof(code), "%d", status);
	metrics_add(k->opts.metrics, &kube_requests_total, 1, code, k->host, req->method);
}

static size_t count_of(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/* Append the headers of impersonation, user first. */
static void add_impersonation(const char **ret, struct arena *arena,
			      const struct kube_config *c)
{
	const char *const *group = c->impersonate_groups;
	const char *const *extra = c->impersonate_extra;
	size_t n = 0;

	if (c->impersonate)
		ret[n++] = arena_printf(arena, "Impersonate-User: %s", c->impersonate);
	if (c->impersonate_uid)
		ret[n++] = arena_printf(arena, "Impersonate-Uid: %s", c->impersonate_uid);
	for (; group && *group; group++)
		ret[n++] = arena_printf(arena, "Impersonate-Group: %s", *group);
	for (; extra && *extra; extra++)
		ret[n++] = *extra;
}

const char *const *kube_headers(struct arena *arena, const struct kube *k,
				const struct kube_request *req, const char *authorization)
{
	const struct kube_config *c = &k->config;
	size_t n = 0, max = 7;
	const char **ret;

	max += count_of(c->impersonate_groups) + count_of(c->impersonate_extra);
	ret = arena_alloc(arena, max * sizeof(*ret));
	ret[n++] = arena_printf(arena, "Accept: %s",
				req->accept ? req->accept : "application/json");
	if (req->body || req->doc)
		ret[n++] = arena_printf(arena, "Content-Type: %s",
					req->content_type ? req->content_type
							  : "application/json");
	if (authorization)
		ret[n++] = authorization;
	if (k->opts.inside.handle)
		ret[n++] = arena_printf(arena, "User-Agent: %s", k->user_agent);
	add_impersonation(ret + n, arena, c);
	return ret;
}

static int send_once(struct kube *k, struct request_state *state,
		     const struct kube_attempt *attempt, struct http_response *ret,
		     struct error *err)
{
	const struct kube_request *req = state->req;
	cleanup_arena struct arena arena = { 0 };
	struct http_request h = {
		.method = req->method,
		.url = arena_printf(&arena, "%s%s", k->config.server, req->path),
		.headers = kube_headers(&arena, k, req,
					attempt ? attempt->authorization : NULL),
		.body = req->body,
		.body_len = req->body ? strlen(req->body) : 0,
		.doc = req->doc,
		.once = req->retry == KUBE_RETRY_NEVER,
		.timeout_ms = req->timeout_ms,
		.receive_bytes = req->receive_bytes,
		.on_data = req->on_data ? on_data : NULL,
		.on_header = req->on_answer ? on_header : NULL,
		.ctx = state,
		.cancel = req->cancel,
		.cancel_fd = req->cancel_fd,
	};
	int rc;

	if (!h.timeout_ms && !req->open_ended)
		h.timeout_ms = k->opts.timeout_ms;
	if (k->opts.inside.handle)
		rc = inside_do(&k->opts.inside, &h, ret, err);
	else
		rc = http_do(attempt->conn->http, &h, ret, err);
	count(k, req, rc ? 0 : ret->status);
	return rc;
}

/* Send with the current credentials and CA; once more when those are renewed then. */
static int send_as(struct kube *k, struct request_state *state, struct http_response *ret,
		   struct error *err)
{
	if (k->opts.inside.handle)
		return send_once(k, state, NULL, ret, err);
	for (int tries = 0;; tries++) {
		struct kube_attempt attempt = { 0 };
		bool renewed;
		int rc;

		if (kube_attempt_begin(k, &attempt, err))
			return -1;
		rc = send_once(k, state, &attempt, ret, err);
		renewed = rc && err->kind == ERR_UNTRUSTED && kube_renew_ca(k, &attempt);
		if (kube_attempt_end(k, &attempt, !rc && ret->status == 401))
			renewed = true;
		if (!renewed || tries)
			return rc;
		http_response_release(ret);
	}
}

/* True: the call may be resent after this error. */
static bool may_repeat(const struct request_state *state, const struct error *err)
{
	if (err->kind != ERR_IO || state->began)
		return false;
	return state->req->retry == KUBE_RETRY_ALWAYS || err->code == ECONNREFUSED;
}

/*
 * Nothing was stored, because others wrote what the same quota counts at that time:
 * "resourcequotas", or OpenShift's "clusterresourcequotas".
 */
static bool is_lost_to_quota(const struct http_response *resp)
{
	cleanup_json cJSON *status = NULL;
	const char *kind;

	if (resp->status != HTTP_CONFLICT || read_status(&status, resp, IGNORED))
		return false;
	kind = json_str(status, "details", "kind");
	return kind && str_ends(kind, "resourcequotas") &&
	       str_eq(json_str(status, "reason"), "Conflict");
}

/* Ms to wait before a retry, or -1: do not retry, as the caller will not wait either. */
static int64_t busy_ms(const struct kube *k, const struct http_response *resp)
{
	int64_t ms = resp->retry_after_ms;

	if (is_lost_to_quota(resp))
		return AGAIN_MS;
	if ((resp->status != 429 && resp->status < 500) ||
	    (k->max_wait_ms && ms > k->max_wait_ms))
		return -1;
	return ms < BUSY_MOST_MS ? ms : BUSY_MOST_MS;
}

static void record_date(struct kube *k, const struct http_response *resp)
{
	if (!resp->date)
		return;
	pthread_mutex_lock(&k->lock);
	k->server_date = resp->date;
	k->server_date_ms = clock_ms();
	pthread_mutex_unlock(&k->lock);
}

int64_t kube_server_time(struct kube *k)
{
	int64_t ret;

	pthread_mutex_lock(&k->lock);
	ret = k->server_date ? k->server_date + (clock_ms() - k->server_date_ms) / 1000
			     : 0;
	pthread_mutex_unlock(&k->lock);
	return ret;
}

/* Before each attempt: a process that was stopped for long may have lost its lease. */
static int check_may_write(struct kube *k, const struct kube_request *req,
			   struct error *err)
{
	if (!k->opts.may_write || !strcmp(req->method, "GET") ||
	    k->opts.may_write(k->opts.ctx))
		return 0;
	return error_set(err, ERR_STOPPED, "%s: another replica leads", req->what);
}

int kube_send(struct kube *k, const struct kube_request *req, struct http_response *ret,
	      struct error *err)
{
	struct request_state state = { .req = req };
	bool repeated = false;

	if (limit(k, req, err))
		return -1;
	for (int busy = 0;;) {
		struct http_response resp = { 0 };
		int64_t wait;

		if (check_may_write(k, req, err))
			return -1;
		if (send_as(k, &state, &resp, err)) {
			if (repeated || !may_repeat(&state, err))
				return error_wrap(err, "%s", req->what);
			repeated = true;
			*err = (struct error){ 0 };
			if (pause_ms(k, req, AGAIN_MS, err))
				return -1;
			continue;
		}
		record_date(k, &resp);
		if (resp.status < 300) {
			*ret = resp;
			return 0;
		}
		wait = busy_ms(k, &resp);
		if (wait < 0 || busy++ == BUSY_TRIES) {
			kube_answer_error(req, &resp, err);
			http_response_release(&resp);
			return -1;
		}
		http_response_release(&resp);
		if (pause_ms(k, req, wait, err))
			return -1;
	}
}
