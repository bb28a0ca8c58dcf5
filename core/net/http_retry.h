/*
 * http_retry.h - an HTTP call with retries of transient failures.
 */
#ifndef NET_HTTP_RETRY_H
#define NET_HTTP_RETRY_H

#include "base/arena.h"
#include "net/http.h"
#include "net/retry.h"

struct http_retry_conf {
	struct http_client *http; /* must outlive the retrier */
	int tries;                /* repetitions at most; 0: RETRY_TRIES */
	/* Called in any thread with a line about a long pause; or NULL. */
	void (*on_pause)(void *ctx, const char *line);
	void *ctx;
};

struct http_retrier; /* thread-safe; conf is copied */
struct http_retrier *http_retrier_new(struct arena *arena,
				      const struct http_retry_conf *conf);

/*
 * As http_do(), repeated after 408, 425, 429, 5xx and network errors, with growing pauses
 * that honor Retry-After. Any other status, including redirects, is returned.
 * req->on_data must be NULL. `what` begins messages: "s3://bucket/prefix". ERR_BUSY:
 * conf->tries retries failed. ERR_STOPPED: base/stop.h.
 */
MUST_CHECK int http_retry(struct http_retrier *retrier, const char *what,
			  const struct http_request *req, struct http_response *ret,
			  struct error *err);

/* A call that changes between tries, or that must not be repeated blindly. */
struct http_retry_call {
	const char *what;
	const struct http_request *req;
	/*
	 * Called before each try, to renew expiring headers, such as a signature. Or
	 * NULL.
	 */
	int (*prepare)(void *ctx, struct arena *arena, struct http_request *req,
		       struct error *err);
	/*
	 * For a call that is not idempotent: called before a retry, sets *ret if the lost
	 * try succeeded; the response then has status 0. NULL: the call is idempotent.
	 */
	int (*is_done)(void *ctx, bool *ret, struct error *err);
	/*
	 * Is a response worth a retry although its status is not? Returns why, in the
	 * arena: "Throttling: Rate exceeded" of one with 400; NULL: no. The response of the
	 * last try is returned. The function may be NULL.
	 */
	const char *(*passes)(struct arena *arena, const struct http_response *r);
	void *ctx;
};
MUST_CHECK int http_retry_call(struct http_retrier *retrier,
			       const struct http_retry_call *call,
			       struct http_response *ret, struct error *err);

#endif
