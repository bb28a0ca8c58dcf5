/* forward.c - a thread that sends the newest reports (supervise/forward.h). */
#include "supervise/forward.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "net/http.h"
#include "net/retry.h"

enum {
	CALL_MS = 3000,
	FIRST_PAUSE_MS = 500,
	LAST_PAUSE_MS = 30 * 1000,
	MAX_TOKEN = 64 * 1024,
	MAX_ANSWER = 256 * 1024,
};

/* The body to be sent: number `put` of its kind; NULL: none. */
struct slot {
	char *body;
	size_t len;
	uint64_t put, answered;
};

struct forward {
	char *url, *ca_file, *token_file;
	pthread_t thread;
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t changed;
	struct slot slots[FORWARD_KINDS];
	bool stop, away;
	int64_t retry_at, pause;
	int status; /* the answer to the last report of progress */
	struct buf answer;
};

/*
 * A client for each call: the server's CA is replaced while a job runs, and there is a
 * call every few seconds at most.
 */
static int call(const struct forward *f, const char *body, size_t len,
		struct http_response *ret, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf token = { .max = MAX_TOKEN };
	const struct http_conf conf = { .user_agent = "kftrainer/" VERSION,
					.ca_file = f->ca_file,
					.proxy = "",
					.after_stop = true };
	const char *headers[3] = { "Content-Type: application/json" };
	const struct http_request req = { .method = "POST",
					  .url = f->url,
					  .headers = headers,
					  .body = body,
					  .body_len = len,
					  .timeout_ms = CALL_MS,
					  .max_body = MAX_ANSWER };
	struct http_client *http;
	int rc;

	if (file_read(&token, f->token_file, err) || http_client_new(&http, &conf, err))
		return -1;
	headers[1] = arena_printf(&a, "Authorization: Bearer %s",
				  str_trim(&a, token.len ? (char *)token.data : ""));
	rc = http_do(http, &req, ret, err);
	http_client_free(http);
	str_wipe(headers[1]);
	explicit_bzero(token.data, token.len);
	return rc;
}

/* The lock is held. */
static struct slot *next(struct forward *f)
{
	for (int i = 0; i < FORWARD_KINDS; i++)
		if (f->slots[i].body)
			return &f->slots[i];
	return NULL;
}

/* The lock is held. A body that was not sent is kept, unless there is a newer one. */
static void failed(struct forward *f, struct slot *s, char *take_body, size_t len)
{
	f->away = true;
	f->pause = f->pause ? f->pause * 2 : FIRST_PAUSE_MS;
	f->pause = f->pause < LAST_PAUSE_MS ? f->pause : LAST_PAUSE_MS;
	f->retry_at = clock_ms() + f->pause;
	if (s->body) {
		free(take_body);
		return;
	}
	s->body = take_body;
	s->len = len;
}

/* The lock is held, but not during the call. */
static void send_one(struct forward *f, struct slot *s)
{
	cleanup_http_response struct http_response resp = { .retry_after_ms = -1 };
	char *body = STEAL(s->body);
	size_t len = s->len;
	uint64_t number = s->put;
	int rc;

	pthread_mutex_unlock(&f->lock);
	rc = call(f, body, len, &resp, IGNORED);
	pthread_mutex_lock(&f->lock);
	if (rc || retry_status(resp.status)) {
		failed(f, s, body, len);
		pthread_cond_broadcast(&f->changed);
		return;
	}
	f->away = false;
	f->pause = f->retry_at = 0;
	s->answered = number;
	if (s == &f->slots[FORWARD_PROGRESS]) {
		f->status = resp.status;
		buf_clear(&f->answer);
		buf_add(&f->answer, resp.body.data, resp.body.len);
	}
	free(body);
	pthread_cond_broadcast(&f->changed);
}

static void *work(void *ctx)
{
	struct forward *f = ctx;

	pthread_mutex_lock(&f->lock);
	while (!f->stop) {
		struct slot *s = next(f);

		if (s && clock_ms() >= f->retry_at)
			send_one(f, s);
		else
			cond_wait_until(&f->changed, &f->lock, s ? f->retry_at : -1);
	}
	for (int i = 0; i < FORWARD_KINDS; i++) /* all of them, or none */
		if (f->slots[i].body && (!i || !f->slots[0].body))
			send_one(f, &f->slots[i]);
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* The lock is held. */
static uint64_t put(struct forward *f, enum forward_kind kind, const char *body,
		    size_t len)
{
	struct slot *s = &f->slots[kind];

	free(s->body);
	s->body = xmalloc(len);
	memcpy(s->body, body, len);
	s->len = len;
	pthread_cond_broadcast(&f->changed);
	return ++s->put;
}

void forward_put(struct forward *f, enum forward_kind kind, const char *body, size_t len)
{
	pthread_mutex_lock(&f->lock);
	put(f, kind, body, len);
	pthread_mutex_unlock(&f->lock);
}

bool forward_ask(struct forward *f, const char *body, size_t len, int *ret_status,
		 struct buf *ret_body)
{
	const struct slot *s = &f->slots[FORWARD_PROGRESS];
	int64_t until = clock_ms() + FORWARD_WAIT_MS;
	uint64_t number;
	bool answered;

	pthread_mutex_lock(&f->lock);
	number = put(f, FORWARD_PROGRESS, body, len);
	while (!f->away && !f->stop && s->answered < number &&
	       cond_wait_until(&f->changed, &f->lock, until))
		;
	answered = s->answered == number;
	if (answered) {
		*ret_status = f->status;
		buf_add(ret_body, f->answer.data, f->answer.len);
	}
	pthread_mutex_unlock(&f->lock);
	return answered;
}

static void release(struct forward *f)
{
	for (int i = 0; i < FORWARD_KINDS; i++)
		free(f->slots[i].body);
	buf_release(&f->answer);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	free(f->url);
	free(f->ca_file);
	free(f->token_file);
	free(f);
}

int forward_start(struct forward **ret, const char *url, const char *ca_file,
		  const char *token_file, struct error *err)
{
	struct forward *f = xcalloc(1, sizeof(*f));

	f->url = xstrdup(url);
	f->ca_file = ca_file ? xstrdup(ca_file) : NULL;
	f->token_file = xstrdup(token_file);
	f->answer.max = MAX_ANSWER;
	pthread_mutex_init(&f->lock, NULL);
	cond_init(&f->changed);
	if (thread_start(&f->thread, work, f, err)) {
		release(f);
		return -1;
	}
	*ret = f;
	return 0;
}

void forward_stop(struct forward *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->stop = true;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	release(f);
}
