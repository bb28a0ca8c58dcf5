/* Requests to a hub, its token, its errors; see hf_hub.h. */
#include "store/hf_hub.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "cloud/secret.h"
#include "net/redirect.h"
#include "net/retry.h"
#include "net/uri.h"
#include "store/hf_tree.h"

enum { ASK_MS = 120 * 1000, IDLE_MS = 30 * 1000 };

static bool is_true(const char *value)
{
	static const char *const words[] = { "1", "ON", "YES", "TRUE", NULL };

	for (const char *const *w = words; value && *w; w++)
		if (!strcasecmp(value, *w))
			return true;
	return false;
}

static const char *token_path(struct arena *arena, const struct store_conf *conf)
{
	static const struct {
		const char *setting, *below;
	} rows[] = {
		{ "HF_TOKEN_PATH", "" },
		{ "HF_HOME", "/token" },
		{ "XDG_CACHE_HOME", "/huggingface/token" },
		{ "HOME", "/.cache/huggingface/token" },
	};
	const struct cloud_conf cloud = store_cloud_conf(conf);

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *set = store_env(conf, rows[i].setting);

		if (set)
			return arena_printf(arena, "%s%s", cloud_path(arena, &cloud, set),
					    rows[i].below);
	}
	return NULL;
}

static void set_token(struct hf_hub *hub, struct arena *arena, const char *token,
		      const char *from)
{
	hub->headers[0] = arena_printf(arena, "Authorization: Bearer %s", token);
	hub->token_from = from;
}

/* A missing file is not an error; an unreadable or empty one is. */
static int token_file(struct hf_hub *hub, struct arena *arena,
		      const struct store_conf *conf, struct error *err)
{
	const char *path = token_path(arena, conf), *token, *from;

	if (!path || !file_exists(path))
		return 0;
	from = arena_printf(arena, "the file %s", path);
	if (secret_read(&token, arena, path, from, err))
		return -1;
	set_token(hub, arena, token, from);
	return 0;
}

static int find_token(struct hf_hub *hub, struct arena *arena,
		      const struct store_conf *conf, struct error *err)
{
	static const char *const names[] = { "ACCESS_TOKEN", "HF_TOKEN",
					     "HUGGING_FACE_HUB_TOKEN", NULL };
	bool only_given = is_true(store_env(conf, "HF_HUB_DISABLE_IMPLICIT_TOKEN"));

	for (const char *const *name = names; *name; name++) {
		const char *value = store_env(conf, *name), *token;

		if (value && secret_take(&token, arena, value, *name, err))
			return -1;
		if (value)
			set_token(hub, arena, token, *name);
		if (value || only_given)
			return 0;
	}
	return token_file(hub, arena, conf, err);
}

static int find_endpoint(struct hf_hub *hub, struct arena *arena,
			 const struct store_conf *conf, struct error *err)
{
	const char *given = store_env(conf, "HF_ENDPOINT");
	char *text = str_trim(arena, given ? given : "https://huggingface.co");
	struct uri u;

	text[str_length_before(text, '/')] = 0;
	if (uri_parse(&u, arena, text, err))
		return error_wrap(err, "HF_ENDPOINT");
	if ((!str_eq(u.scheme, "https") && !str_eq(u.scheme, "http")) || !*u.host ||
	    strchr(u.host, '@') || u.query || u.fragment)
		return error_set(err, ERR_INVALID,
				 "HF_ENDPOINT: invalid address '%s': expected a URL such "
				 "as https://huggingface.co",
				 uri_shown(arena, text));
	hub->endpoint = text;
	hub->host = u.host;
	return 0;
}

int hf_hub_open(struct hf_hub *ret, struct arena *arena, const struct store_conf *conf,
		struct error *err)
{
	struct hf_hub hub = { .retrier = store_retrier(arena, conf) };

	if (is_true(store_env(conf, "HF_HUB_OFFLINE")))
		return error_set(err, ERR_INVALID,
				 "HF_HUB_OFFLINE is set: unset it, or pass another URI");
	if (find_endpoint(&hub, arena, conf, err) || find_token(&hub, arena, conf, err))
		return -1;
	if (hub.token_from && str_starts(hub.endpoint, "http://") && conf->say)
		conf->say(conf->ctx, arena_printf(arena,
						  "HF_ENDPOINT is http://: the token in "
						  "%s would be sent to %s unencrypted",
						  hub.token_from, hub.host));
	*ret = hub;
	return 0;
}

const char *hf_repo_shown(struct arena *arena, const struct hf_repo *repo)
{
	return arena_printf(arena, "%s %s",
			    str_eq(repo->kind, "models") ? "model" : "dataset", repo->id);
}

const char *hf_repo_page(struct arena *arena, const struct hf_hub *hub,
			 const struct hf_repo *repo)
{
	return arena_printf(arena, "%s/%s%s", hub->endpoint,
			    str_eq(repo->kind, "models") ? "" : "datasets/", repo->id);
}

/* ": " and what the hub says, unless it only says that terms are to be accepted. */
static const char *reason(struct arena *arena, const char *message)
{
	if (!*message || strstr(message, " is restricted"))
		return "";
	return arena_printf(arena, ": %.300s", str_visible(arena, message, false));
}

static int gated(const struct hf_hub *hub, const struct hf_repo *repo,
		 const char *message, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *page = hf_repo_page(&arena, hub, repo);
	const char *name = hf_repo_shown(&arena, repo);

	if (!hub->token_from)
		return error_set(err, ERR_DENIED,
				 "%s is gated: accept its terms at %s, then set "
				 "ACCESS_TOKEN or HF_TOKEN to a token of that account",
				 name, page);
	return error_set(err, ERR_DENIED,
			 "%s is gated, and the account of the token in %s has no access: "
			 "accept its terms at %s, or use another token%s",
			 name, hub->token_from, page, reason(&arena, message));
}

static int not_found(const struct hf_hub *hub, const struct hf_repo *repo,
		     struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *name = hf_repo_shown(&arena, repo);

	if (!hub->token_from)
		return error_set(
			err, ERR_NOT_FOUND,
			"no %s on %s, or it is private: check the name; for a private "
			"one set ACCESS_TOKEN or HF_TOKEN to a token with read access",
			name, hub->host);
	return error_set(err, ERR_NOT_FOUND,
			 "no %s on %s that the token in %s can access: check the name "
			 "and the token's account",
			 name, hub->host, hub->token_from);
}

static int denied(const struct hf_hub *hub, const struct hf_repo *repo,
		  const char *message, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	return error_set(err, ERR_DENIED, "the token in %s has no read access to %s%s",
			 hub->token_from, hf_repo_shown(&arena, repo),
			 reason(&arena, message));
}

static int no_revision(const struct hf_repo *repo, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	return error_set(
		err, ERR_NOT_FOUND,
		"%s has no revision '%.200s': expected a branch, tag or commit%s",
		hf_repo_shown(&arena, repo), str_visible(&arena, repo->revision, false),
		*repo->folder ? ", with %2F for a '/' in its name" : "");
}

int hf_hub_refused(const struct hf_hub *hub, const struct hf_repo *repo, int status,
		   const char *code, const char *message, struct error *err)
{
	static const char wrong_token[] = "Invalid credentials in Authorization header";
	static const char disabled[] = "Access to this resource is disabled";
	cleanup_arena struct arena arena = { 0 };
	const char *name = hf_repo_shown(&arena, repo);

	if (str_starts(message, disabled))
		error_set(err, ERR_DENIED, "%s has disabled the access to %s", hub->host,
			  name);
	else if (str_eq(code, "GatedRepo"))
		gated(hub, repo, message, err);
	else if (str_eq(code, "RevisionNotFound"))
		no_revision(repo, err);
	else if (status == 401 && hub->token_from && str_starts(message, wrong_token))
		error_set(err, ERR_DENIED,
			  "%s rejects the token in %s: mistyped, expired or revoked",
			  hub->host, hub->token_from);
	else if (str_eq(code, "EntryNotFound"))
		error_set(err, ERR_NOT_FOUND, "%s has no such file at this revision",
			  name);
	else if (str_eq(code, "RepoNotFound") || status == 401 || status == 404)
		not_found(hub, repo, err);
	else if (status == 403 && hub->token_from)
		denied(hub, repo, message, err);
	else if (status == 403)
		gated(hub, repo, message, err);
	else if (retry_fail(err, status))
		error_wrap(err, "%s", name);
	err->code = status;
	return -1;
}

/* Headers of a response. */
struct answer {
	struct arena arena;
	bool head; /* HEAD request */
	int status;
	const char *link, *code, *message;
};

static int on_header(void *ctx, int status, const char *name, const char *value,
		     struct error *err)
{
	struct answer *a = ctx;
	const struct {
		const char *name, **to;
	} rows[] = {
		{ "link", &a->link },
		{ "x-error-code", &a->code },
		{ "x-error-message", &a->message },
	};

	if (a->status != status)
		*a = (struct answer){ .arena = a->arena,
				      .head = a->head,
				      .status = status };
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (!strcasecmp(name, rows[i].name))
			*rows[i].to = arena_strdup(&a->arena, value);
	return 0;
}

/* A mirror may return links to the hub behind it, or to another name of its own. */
static const char *own_link(const struct hf_hub *hub, struct arena *arena,
			    const char *link)
{
	static const char *const apis[] = { "/api/models/", "/api/datasets/" };
	const char *api = NULL;

	for (size_t i = 0; !api && i < N_ELEMENTS(apis); i++)
		api = strstr(link, apis[i]);
	if (http_same_server(hub->endpoint, link) || !api)
		return link;
	return arena_printf(arena, "%s%s", hub->endpoint, api);
}

static int next_page(const struct hf_hub *hub, struct arena *arena, const char *url,
		     const char *link, const char **ret, struct error *err)
{
	const char *next = hf_tree_next(arena, link);

	if (next && uri_resolve(&next, arena, url, next, err))
		return error_wrap(err, "the address of the next page");
	if (next)
		next = own_link(hub, arena, next);
	if (next && !http_same_server(hub->endpoint, next))
		return error_set(err, ERR_FORMAT,
				 "%s: next page is on another server: %s", hub->host,
				 uri_shown(arena, next));
	if (next && str_eq(next, url))
		return error_set(err, ERR_FORMAT, "%s: next page is the same page",
				 hub->host);
	*ret = next;
	return 0;
}

/* The hub's own words: X-Error-Message, or {"error": ...}. */
static const char *message_of(struct arena *arena, const struct answer *a,
			      const struct http_response *r)
{
	cleanup_json cJSON *doc = NULL;
	const char *text;

	if (a->message)
		return a->message;
	if (!r->body.len || json_parse(&doc, r->body.data, r->body.len, IGNORED))
		return "";
	text = json_str(doc, "error");
	return text ? arena_strdup(arena, text) : "";
}

static const char *title(struct arena *arena, const struct hf_hub *hub,
			 const struct hf_repo *repo)
{
	return arena_printf(arena, "asking %s about %s", hub->host,
			    hf_repo_shown(arena, repo));
}

static struct http_request request_of(const struct hf_hub *hub, struct answer *a)
{
	return (struct http_request){ .method = a->head ? "HEAD" : "GET",
				      .headers = hub->headers,
				      .timeout_ms = ASK_MS,
				      .idle_ms = IDLE_MS,
				      .max_body = HF_PAGE_MAX,
				      .on_header = on_header,
				      .ctx = a };
}

int hf_hub_check_access(const struct hf_hub *hub, const struct hf_repo *repo,
			const char *url, struct error *err)
{
	cleanup_http_response struct http_response r = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct answer a = { .head = true };
	struct http_request req = request_of(hub, &a);
	int rc;

	req.url = url;
	rc = http_retry(hub->retrier, title(&arena, hub, repo), &req, &r, err);

	if (!rc && r.status >= 400)
		rc = hf_hub_refused(hub, repo, r.status, a.code ? a.code : "",
				    a.message ? a.message : "", err);
	arena_clear(&a.arena);
	return rc;
}

void hf_page_release(struct hf_page *p)
{
	http_response_release(&p->http);
	arena_clear(&p->arena);
}

/* Renamed repositories are at another path of the hub, mirrors may have another host. */
static int get_page(struct hf_page *p, const struct hf_hub *hub,
		    const struct hf_repo *repo, struct redirect *at, struct error *err)
{
	struct answer a = { 0 };
	const struct http_request req = request_of(hub, &a);
	int rc = redirect_retry(at, hub->retrier, title(&p->arena, hub, repo), &req,
				&p->http, err);

	if (!rc && p->http.status != 200)
		rc = hf_hub_refused(hub, repo, p->http.status, a.code ? a.code : "",
				    message_of(&a.arena, &a, &p->http), err);
	else if (!rc)
		rc = next_page(hub, &p->arena, at->url, a.link, &p->next, err);
	arena_clear(&a.arena);
	return rc;
}

int hf_hub_get(struct hf_page *ret, const struct hf_hub *hub, const struct hf_repo *repo,
	       const char *url, struct error *err)
{
	struct hf_page p = { 0 };
	struct redirect at = { .arena = &p.arena, .url = url, .secure_only = true };

	if (hub->token_from)
		at.leave_advice =
			arena_printf(&p.arena,
				     "the token in %s is not sent there; set "
				     "HF_ENDPOINT to that server, or remove the token",
				     hub->token_from);
	if (get_page(&p, hub, repo, &at, err)) {
		hf_page_release(&p);
		return -1;
	}
	*ret = p;
	return 0;
}
