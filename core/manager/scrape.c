/* Serves /metrics, to authorized callers only: scrape.h. */
#include "manager/scrape.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "manager/grants.h"
#include "manager/review.h"
#include "net/bearer.h"

#define PATH      "/metrics"
#define MAX_TEXT  ((size_t)8 * 1024 * 1024)
#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum { MAX_GRANTS = 8, GRANT_MS = 60000 };

struct scrape {
	struct scrape_conf conf;
	struct grants grants; /* of tokens */
};

struct scrape *scrape_new(const struct scrape_conf *conf)
{
	struct scrape *s = xcalloc(1, sizeof(*s));

	s->conf = *conf;
	grants_init(&s->grants, MAX_GRANTS, GRANT_MS);
	return s;
}

void scrape_free(struct scrape *s)
{
	if (!s)
		return;
	grants_release(&s->grants);
	free(s);
}

static void answer(struct httpd_response *resp, int status, const char *text)
{
	resp->status = status;
	resp->body.max = MAX_TEXT;
	buf_printf(&resp->body, "%s\n", text);
}

static int review(struct scrape *s, const char *token, struct httpd_response *resp,
		  struct error *err)
{
	cleanup_json cJSON *user = NULL;
	int64_t since = clock_ms();
	bool may = false;

	if (token_review(s->conf.kube, token, NULL, &user, err))
		return -1;
	if (!user) {
		answer(resp, 401, "Unauthorized");
		return 0;
	}
	if (access_review(s->conf.kube, user, PATH, "get", &may, err))
		return -1;
	if (may)
		grants_add(&s->grants, token, "", since);
	else
		answer(resp, 403, "Forbidden");
	return 0;
}

/* Fills resp when not. */
static bool may_read(struct scrape *s, const struct httpd_request *req,
		     struct httpd_response *resp)
{
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };
	const char *token;

	if (!s->conf.kube)
		return true;
	token = bearer_token(&a, httpd_header(req, "Authorization"));
	if (!token) {
		answer(resp, 401, "Unauthorized");
		return false;
	}
	if (grants_find(&s->grants, &a, token))
		return true;
	if (review(s, token, resp, &err)) {
		log_warn("cannot authenticate a request for metrics", LOG_ERR(&err));
		answer(resp, 500, "Authentication failed");
	}
	return resp->status == 0;
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
