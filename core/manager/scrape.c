/* scrape.c - serve /metrics to authorized callers only (manager/scrape.h). */
#include "manager/scrape.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/bearer.h"
#include "kube/authenticator.h"
#include "kube/review.h"

#define PATH      "/metrics"
#define MAX_TEXT  ((size_t)8 * 1024 * 1024)
#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum { MAX_VERDICTS = 64, ACCEPTED_MS = 60000, SAME_MS = 60000 };

struct scrape {
	struct scrape_conf conf;
	struct authenticator *tokens; /* NULL: no authentication */
	struct log_last logged;
};

/* authenticator_conf.review */
static int review(void *ctx, struct arena *arena, const struct authenticator_request *r,
		  const char **ret_value, struct error *why, struct error *err)
{
	struct kube *k = ctx;
	cleanup_json cJSON *user = NULL;
	bool may = false;

	if (token_review(k, r->token, NULL, &user, why, err) ||
	    (user && access_review(k, user, PATH, "get", &may, err)))
		return -1;
	if (may)
		*ret_value = "";
	else if (user)
		error_set(why, ERR_DENIED, "%s may not get " PATH,
			  json_str(user, "username"));
	return 0;
}

int scrape_new(struct scrape **ret, const struct scrape_conf *conf, struct error *err)
{
	struct scrape *s = xcalloc(1, sizeof(*s));
	const struct authenticator_conf tokens = {
		.review = review,
		.ctx = conf->kube,
		.max = MAX_VERDICTS,
		.accepted_ms = ACCEPTED_MS,
	};

	s->conf = *conf;
	if (conf->kube && authenticator_new(&s->tokens, &tokens, err)) {
		free(s);
		return -1;
	}
	*ret = s;
	return 0;
}

void scrape_free(struct scrape *s)
{
	if (!s)
		return;
	authenticator_free(s->tokens);
	free(s);
}

static void answer(struct httpd_response *resp, int status, const char *text)
{
	resp->status = status;
	resp->body.max = MAX_TEXT;
	buf_printf(&resp->body, "%s\n", text);
}

static void refuse(struct scrape *s, struct httpd_response *resp,
		   enum authenticator_verdict verdict, const struct error *err)
{
	if (verdict == AUTHENTICATOR_REFUSED) {
		bool known = err->kind == ERR_DENIED;

		answer(resp, known ? 403 : 401, known ? "Forbidden" : "Unauthorized");
	} else if (err->code == 429) {
		answer(resp, 429, "Too Many Requests");
	} else {
		if (log_is_news(&s->logged, err->msg, SAME_MS))
			log_warn("cannot authenticate a request for metrics",
				 LOG_ERR(err));
		answer(resp, 500, "Authentication failed");
	}
}

/* False: the request is refused, and resp is the answer. */
static bool may_read(struct scrape *s, const struct httpd_request *req,
		     struct httpd_response *resp)
{
	cleanup_arena struct arena a = { 0 };
	struct authenticator_request r = { .peer = req->peer };
	enum authenticator_verdict verdict;
	struct error err = { 0 };
	const char *unused;

	if (!s->tokens)
		return true;
	r.token = bearer_token(&a, httpd_header(req, "Authorization"));
	if (!r.token) {
		answer(resp, 401, "Unauthorized");
		return false;
	}
	verdict = authenticator_wait(s->tokens, &a, &r, &unused, &err);
	if (verdict == AUTHENTICATOR_ACCEPTED)
		return true;
	refuse(s, resp, verdict, &err);
	return false;
}

void scrape_handle(void *scrape, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	struct scrape *s = scrape;

	if (!may_read(s, req, resp))
		return;
	if (!str_eq(req->path, PATH)) {
		answer(resp, 404, "404 page not found");
	} else if (!str_eq(req->method, "GET") && !str_eq(req->method, "HEAD")) {
		answer(resp, 405, "Method Not Allowed");
	} else {
		if (s->conf.measure)
			s->conf.measure(s->conf.ctx);
		resp->status = 200;
		resp->content_type = TEXT_TYPE;
		resp->body.max = MAX_TEXT;
		metrics_print(&resp->body, s->conf.metrics);
		metrics_print_process(&resp->body);
	}
}
