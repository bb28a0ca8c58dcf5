/* fetchpost.c - post progress to the status server (cmd/ui/fetchpost.h). */
#include "cmd/ui/fetchpost.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "net/http.h"
#include "trainer/progress.h"

enum { EVERY_MS = 5000, TIMEOUT_MS = 5000, MAX_TOKEN = 64 * 1024 };
#define MAX_CA ((size_t)1024 * 1024)

struct fetchpost {
	const char *url, *token_file;
	struct http_client *http;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int percent;
	int64_t left;
	bool stop, failure_told;
};

/* Read the token each time: the kubelet rotates it. */
static int post(struct fetchpost *p, int percent, int64_t left, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf token = { .max = MAX_TOKEN };
	cleanup_json cJSON *progress = progress_new(percent, left, clock_now());
	cleanup_json cJSON *doc = progress_echo(progress);
	cleanup_free char *body = json_text(doc);
	cleanup_http_response struct http_response r = { .retry_after_ms = -1 };
	const char *headers[3] = { "Content-Type: application/json" };
	struct http_request req = { .method = "POST",
				    .url = p->url,
				    .headers = headers,
				    .body = body,
				    .body_len = strlen(body),
				    .timeout_ms = TIMEOUT_MS,
				    .max_body = MAX_TOKEN };

	if (file_read(&token, p->token_file, err))
		return -1;
	headers[1] = arena_printf(&a, "Authorization: Bearer %s",
				  str_trim(&a, (char *)token.data));
	if (http_do(p->http, &req, &r, err))
		return -1;
	if (r.status != 200)
		return error_set(err, ERR_IO, "the status server answered %d", r.status);
	return 0;
}

static void post_or_say(struct fetchpost *p, int percent, int64_t left)
{
	struct error err = { 0 };

	if (!post(p, percent, left, &err) || p->failure_told)
		return;
	p->failure_told = true;
	fprintf(stderr, "cannot report progress: %s\n", err.msg);
}

static void *work(void *ctx)
{
	struct fetchpost *p = ctx;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		int percent = p->percent;
		int64_t left = p->left, until;

		pthread_mutex_unlock(&p->lock);
		if (percent >= 0)
			post_or_say(p, percent, left);
		pthread_mutex_lock(&p->lock);
		until = clock_ms() + EVERY_MS;
		while (!p->stop && cond_wait_until(&p->changed, &p->lock, until))
			;
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static int start(struct fetchpost *p, const char *ca, struct error *err)
{
	cleanup_buf struct buf pem = { .max = MAX_CA };
	struct http_conf conf = { .user_agent = "kftrainer/" VERSION, .proxy = "" };

	if (ca && file_read(&pem, ca, err))
		return -1;
	conf.ca_pem = ca ? (const char *)pem.data : NULL;
	if (http_client_new(&p->http, &conf, err))
		return -1;
	return thread_start(&p->thread, work, p, err);
}

struct fetchpost *fetchpost_start(const char *(*env)(void *ctx, const char *name))
{
	const char *url = env(NULL, "KUBEFLOW_TRAINER_SERVER_URL");
	const char *token = env(NULL, "KUBEFLOW_TRAINER_SERVER_TOKEN");
	struct error err = { 0 };
	struct fetchpost *p;

	if (!url || !token)
		return NULL;
	p = xcalloc(1, sizeof(*p));
	p->url = url;
	p->token_file = token;
	p->percent = -1;
	pthread_mutex_init(&p->lock, NULL);
	cond_init(&p->changed);
	if (!start(p, env(NULL, "KUBEFLOW_TRAINER_SERVER_CA_CERT"), &err))
		return p;
	fprintf(stderr, "cannot report progress: %s\n", err.msg);
	http_client_free(p->http);
	free(p);
	return NULL;
}

void fetchpost_tick(struct fetchpost *p, int percent, int64_t seconds_left)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->percent = percent;
	p->left = seconds_left;
	pthread_mutex_unlock(&p->lock);
}

void fetchpost_stop(struct fetchpost *p, int percent)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	if (percent >= 0)
		post_or_say(p, percent, 0);
	http_client_free(p->http);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
