/* Serves /metrics, to authorized callers only: scrape.h. */
#include "manager/scrape.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "manager/review.h"

#define PATH      "/metrics"
#define MAX_TEXT  ((size_t)8 * 1024 * 1024)
#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum { MAX_KNOWN = 8, KNOWN_MS = 60000 };

struct known {
	char *token; /* NULL: a free place */
	int64_t until;
};

struct scrape {
	struct scrape_conf conf;
	pthread_mutex_t lock;
	struct known known[MAX_KNOWN];
};

struct scrape *scrape_new(const struct scrape_conf *conf)
{
	struct scrape *s = xcalloc(1, sizeof(*s));

	s->conf = *conf;
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static void forget_token(struct known *k)
{
	str_wipe_free(k->token);
	*k = (struct known){ 0 };
}

void scrape_free(struct scrape *s)
{
	if (!s)
		return;
	for (int i = 0; i < MAX_KNOWN; i++)
		forget_token(&s->known[i]);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static bool is_known(struct scrape *s, const char *token)
{
	int64_t now = clock_ms();
	bool ret = false;

	pthread_mutex_lock(&s->lock);
	for (int i = 0; i < MAX_KNOWN; i++) {
		if (s->known[i].token && s->known[i].until <= now)
			forget_token(&s->known[i]);
		ret |= str_eq(s->known[i].token, token);
	}
	pthread_mutex_unlock(&s->lock);
	return ret;
}

/* In a free place, or in that of the one that would be forgotten first. */
static void remember(struct scrape *s, const char *token)
{
	struct known *place = &s->known[0];

	pthread_mutex_lock(&s->lock);
	for (int i = 1; i < MAX_KNOWN; i++)
		if (s->known[i].until < place->until)
			place = &s->known[i];
	forget_token(place);
	*place = (struct known){ xstrdup(token), clock_ms() + KNOWN_MS };
	pthread_mutex_unlock(&s->lock);
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
		remember(s, token);
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
	token = bearer_token(&a, req);
	if (!token) {
		answer(resp, 401, "Unauthorized");
		return false;
	}
	if (is_known(s, token))
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
