/* http_retry.c - retries HTTP calls (net/http_retry.h). */
#include "net/http_retry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "net/retry.h"

struct http_retrier {
	struct http_retry_conf conf;
	int64_t report_next; /* atomic */
};

struct http_retrier *http_retrier_new(struct arena *arena,
				      const struct http_retry_conf *conf)
{
	struct http_retrier *ret = arena_alloc(arena, sizeof(*ret));

	*ret = (struct http_retrier){ .conf = *conf };
	if (!ret->conf.tries)
		ret->conf.tries = RETRY_TRIES;
	return ret;
}

/* True: a retry can succeed. False: the response or error is final. */
static bool is_passing(int rc, const struct http_response *r, const struct error *err)
{
	return rc ? retry_error(err) : retry_status(r->status);
}

static int give_up(const char *what, int tried, struct error *err)
{
	size_t len = strlen(err->msg);

	err->kind = ERR_BUSY;
	if (tried)
		snprintf(err->msg + len, sizeof(err->msg) - len, " (tried %d times)",
			 tried + 1);
	return error_wrap(err, "%s", what);
}

/* Report a pause, once for all waiting threads. */
static void report_pause(struct http_retrier *retrier, const char *what, int64_t ms,
			 const struct error *why)
{
	int64_t now = clock_ms(), next;
	cleanup_arena struct arena arena = { 0 };

	if (!retrier->conf.on_pause || ms < REPORT_FROM_MS)
		return;
	next = __atomic_load_n(&retrier->report_next, __ATOMIC_RELAXED);
	if (now < next || !__atomic_compare_exchange_n(
				  &retrier->report_next, &next, now + REPORT_EVERY_MS,
				  false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	retrier->conf.on_pause(retrier->conf.ctx,
			       arena_printf(&arena, "%s: %s; retrying in %lld s", what,
					    why->msg, (long long)(ms + 999) / 1000));
}

static int call_once(struct http_retrier *retrier, const struct http_retry_call *q,
		     struct http_response *ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct http_request req = *q->req;

	req.once = q->is_done != NULL;
	if (q->prepare && q->prepare(q->ctx, &arena, &req, err))
		return -1;
	return http_do(retrier->conf.http, &req, ret, err);
}

/* q->passes(), unless this was the last try. */
static const char *what_passes(const struct http_retrier *retrier,
			       const struct http_retry_call *q, int tried, int rc,
			       struct arena *arena, const struct http_response *r)
{
	if (rc || !q->passes || tried >= retrier->conf.tries || stop_requested())
		return NULL;
	return q->passes(arena, r);
}

/* True: the server certainly did not process the request. */
static bool is_refused(int rc, const struct http_response *r, const struct error *err)
{
	return rc ? err->code == ECONNREFUSED : r->status == 429;
}

/*
 * Pause after a retriable failure. 0: retry; 1: is_done() found that the lost request
 * succeeded; -1: give up, err is filled.
 */
static int pause_before_retry(struct http_retrier *retrier,
			      const struct http_retry_call *q, int tried, bool check_done,
			      int64_t pause, struct error *err)
{
	bool last = tried >= retrier->conf.tries || stop_requested(), done = false;
	struct error why = { 0 };

	if (last && !check_done)
		return give_up(q->what, tried, err);
	if (!last)
		report_pause(retrier, q->what, pause, err);
	if (!last && stop_wait(pause)) {
		err->kind = ERR_STOPPED;
		return error_wrap(err, "%s: stopped before a retry", q->what);
	}
	if (check_done && q->is_done(q->ctx, &done, &why)) {
		*err = why;
		return error_wrap(err, "%s", q->what);
	}
	if (done)
		return 1;
	return last ? give_up(q->what, tried, err) : 0;
}

int http_retry_call(struct http_retrier *retrier, const struct http_retry_call *q,
		    struct http_response *ret, struct error *err)
{
	for (int tried = 0, next;; tried++) {
		struct http_response r = { .retry_after_ms = -1 };
		cleanup_arena struct arena arena = { 0 };
		struct error why = { 0 };
		int rc = call_once(retrier, q, &r, &why);
		const char *passes = what_passes(retrier, q, tried, rc, &arena, &r);
		int64_t pause = retry_pause(tried, r.retry_after_ms);
		bool check_done = q->is_done && !is_refused(rc, &r, &why);

		if (!passes && !is_passing(rc, &r, &why)) {
			if (!rc)
				*ret = r;
			else
				*err = why;
			return rc ? error_wrap(err, "%s", q->what) : 0;
		}
		if (!rc)
			retry_fail(&why, r.status);
		if (passes)
			error_set(&why, ERR_BUSY, "HTTP %d %s", r.status, passes);
		http_response_release(&r);
		*err = why;
		next = pause_before_retry(retrier, q, tried, check_done, pause, err);
		if (next > 0)
			*ret = r;
		if (next)
			return next > 0 ? 0 : -1;
	}
}

int http_retry(struct http_retrier *retrier, const char *what,
	       const struct http_request *req, struct http_response *ret,
	       struct error *err)
{
	return http_retry_call(
		retrier, &(struct http_retry_call){ .what = what, .req = req }, ret, err);
}
