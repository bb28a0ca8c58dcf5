#include "store/ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/stop.h"
#include "store/aws_profile.h"
#include "store/retry.h"
#include "store/uri.h"

#define AWS_TRUST "AWS_CA_BUNDLE"

/* Whom AWS's programs trust: what the file of certificates is, and what says so. */
static const char *aws_trust(struct arena *arena, const struct store_conf *conf,
			     const char **ret_setting)
{
	struct aws_files files = aws_files_of(arena, conf);
	const char *file = store_env(conf, AWS_TRUST);
	struct aws_profile profile = { 0 };
	struct error ignored = { 0 }; /* aws_credentials_get() says it, if it matters */
	bool found;

	*ret_setting = AWS_TRUST;
	if (file)
		return file;
	*ret_setting = arena_printf(arena, "ca_bundle of profile %s", files.profile);
	if (aws_profile_load(&profile, &found, arena, &files, files.profile, &ignored))
		return NULL;
	return profile.ca_bundle;
}

int store_http_new(struct http_client **ret, const struct store_conf *conf,
		   const struct http_conf *like, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct http_conf http = *like;
	const char *file = NULL, *setting;
	struct uri uri;

	if (uri_parse(&uri, &arena, conf->uri, err))
		return -1;
	http.http1 = true;
	if (!strcmp(uri.scheme, "s3") && !store_env(conf, "SSL_CERT_FILE"))
		file = aws_trust(&arena, conf, &setting);
	if (file) {
		if (!file_exists(file))
			return error_set(err, ERR_INVALID, "%s: no file %s", setting,
					 file);
		http.ca_file = file;
		http.ca_setting = setting;
	}
	return http_client_new(ret, &http, err);
}

struct store_asker {
	struct http_client *http;
	int tries;
	void (*say)(void *ctx, const char *line);
	void *ctx;
	int64_t tell_next; /* atomic */
};

struct store_asker *store_asker_new(struct arena *arena, const struct store_conf *conf)
{
	struct store_asker *ret = arena_alloc(arena, sizeof(*ret));

	*ret = (struct store_asker){ .http = conf->http,
				     .tries = conf->tries ? conf->tries : RETRY_TRIES,
				     .say = conf->say,
				     .ctx = conf->ctx };
	return ret;
}

/* Shall it be asked again, after a pause? Else: the answer, or the error, stands. */
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

/* Of all that wait at once one says so. */
static void tell_pause(struct store_asker *asker, const char *what, int64_t ms,
		       const struct error *why)
{
	int64_t now = clock_ms(), next;
	cleanup_arena struct arena arena = { 0 };

	if (!asker->say || ms < TELL_FROM_MS)
		return;
	next = __atomic_load_n(&asker->tell_next, __ATOMIC_RELAXED);
	if (now < next ||
	    !__atomic_compare_exchange_n(&asker->tell_next, &next, now + TELL_EVERY_MS,
					 false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	asker->say(asker->ctx, arena_printf(&arena, "%s: %s; asked again in %lld s", what,
					    why->msg, (long long)(ms + 999) / 1000));
}

static int ask_once(struct store_asker *asker, const struct store_question *q,
		    struct http_response *ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct http_request req = *q->req;

	req.once = q->is_done != NULL;
	if (q->prepare && q->prepare(q->ctx, &arena, &req, err))
		return -1;
	return http_do(asker->http, &req, ret, err);
}

/* Nobody was there, or was too busy to look at it. */
static bool is_refused(int rc, const struct http_response *r, const struct error *err)
{
	return rc ? err->code == ECONNREFUSED : r->status == 429;
}

/*
 * After a failure that may pass. 0: ask again; 1: it was done all the same; -1: neither,
 * for the reason that *err has, or another.
 */
static int go_on(struct store_asker *asker, const struct store_question *q, int tried,
		 bool look, int64_t pause, struct error *err)
{
	bool last = tried >= asker->tries || stop_requested(), done = false;
	struct error why = { 0 };

	if (last && !look)
		return give_up(q->what, tried, err);
	if (!last)
		tell_pause(asker, q->what, pause, err);
	if (!last && stop_wait(pause)) {
		err->kind = ERR_STOPPED;
		return error_wrap(err, "%s: stopped before it was asked again", q->what);
	}
	if (look && q->is_done(q->ctx, &done, &why)) {
		*err = why;
		return error_wrap(err, "%s", q->what);
	}
	if (done)
		return 1;
	return last ? give_up(q->what, tried, err) : 0;
}

int store_ask_question(struct store_asker *asker, const struct store_question *q,
		       struct http_response *ret, struct error *err)
{
	for (int tried = 0, next;; tried++) {
		struct http_response r = { .retry_after_ms = -1 };
		struct error why = { 0 };
		int rc = ask_once(asker, q, &r, &why);
		int64_t pause = retry_pause(tried, r.retry_after_ms);
		bool look = q->is_done && !is_refused(rc, &r, &why);

		if (!is_passing(rc, &r, &why)) {
			if (!rc)
				*ret = r;
			else
				*err = why;
			return rc ? error_wrap(err, "%s", q->what) : 0;
		}
		if (!rc)
			retry_fail(&why, r.status);
		http_response_release(&r);
		*err = why;
		next = go_on(asker, q, tried, look, pause, err);
		if (next > 0)
			*ret = r;
		if (next)
			return next > 0 ? 0 : -1;
	}
}

int store_ask(struct store_asker *asker, const char *what, const struct http_request *req,
	      struct http_response *ret, struct error *err)
{
	return store_ask_question(
		asker, &(struct store_question){ .what = what, .req = req }, ret, err);
}
