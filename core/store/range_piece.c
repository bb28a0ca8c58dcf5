/* Reads a piece of a range, with redirects and retries: range_impl.h. */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "net/redirect.h"
#include "net/retry.h"
#include "store/range_impl.h"

enum {
	MAX_ERROR_BODY = 1 << 20,
	IDLE_MS = 30 * 1000,
	PROGRESS = 64 * 1024, /* bytes that count as progress */
};

enum next { DONE, AT_ONCE, LATER, FATAL };

/* A request and its target. */
struct attempt {
	struct range_piece *p;
	struct redirect at;
	bool was_redirected; /* its URL comes from an earlier redirect */
	bool renewed;        /* with renewed credentials */
	int64_t pause_ms;    /* Retry-After, or -1 */
};

static int changed(const char *what, struct error *err)
{
	return error_set(err, ERR_CONFLICT, "changed while it was read (%s)", what);
}

/* ---- the response's head ---- */

static int check_size(struct range_object *o, int64_t total, struct error *err)
{
	int rc = 0;

	if (total < 0)
		return error_set(err, ERR_FORMAT, "invalid response: no total size");
	if (total > STORE_MAX_SIZE)
		return error_set(err, ERR_LIMIT, "%lld bytes", (long long)total);
	pthread_mutex_lock(&o->lock);
	if (o->o.size < 0)
		o->o.size = total;
	else if (o->o.size != total)
		rc = error_set(err, ERR_CONFLICT, "%lld bytes, expected %lld",
			       (long long)total, (long long)o->o.size);
	pthread_mutex_unlock(&o->lock);
	return rc;
}

static int check_tag(struct range_object *o, const struct reply *r, struct error *err)
{
	const char *tag = r->etag ? r->etag : r->modified;
	int rc = 0;

	if (!tag)
		return 0;
	pthread_mutex_lock(&o->lock);
	if (!o->etag)
		o->etag = arena_strdup(&o->arena, tag);
	else if (!reply_same_tag(o->etag, tag) && (r->etag || !o->o.etag))
		rc = changed("different ETag", err);
	pthread_mutex_unlock(&o->lock);
	return rc;
}

static int check_head(struct range_piece *p, struct error *err)
{
	const struct reply *r = &p->reply;
	uint64_t first = p->offset + p->done, last = p->offset + p->len - 1;
	bool whole = r->status == 200 && !first && (int64_t)p->len == r->length;

	p->checked = true;
	if (r->encoding && !p->object->conf.scheme->as_stored)
		return error_set(err, ERR_FORMAT,
				 "invalid response: unexpected Content-Encoding");
	if (r->status == 200 && !whole)
		return error_set(err, ERR_UNSUPPORTED,
				 "the server does not support ranges; download the file "
				 "and read the copy");
	if (!whole && (r->status != 206 || r->from != (int64_t)first || r->to < r->from ||
		       r->to > (int64_t)last))
		return error_set(err, ERR_FORMAT,
				 "invalid response: not the requested range");
	if (check_size(p->object, whole ? r->length : r->total, err))
		return -1;
	return check_tag(p->object, r, err);
}

static int on_header(void *ctx, int status, const char *name, const char *value,
		     struct error *err)
{
	struct range_piece *p = ctx;

	return reply_header(&p->reply, &p->arena, status, name, value, err);
}

static int on_data(void *ctx, const void *data, size_t len, struct error *err)
{
	struct range_piece *p = ctx;

	if (!p->checked && check_head(p, err))
		return -1;
	if (len > p->len - p->done)
		return error_set(err, ERR_FORMAT,
				 "invalid response: more bytes than requested");
	if (p->to)
		memcpy(p->to + p->done, data, len);
	p->done += len;
	return 0;
}

/* ---- the request ---- */

/* `headers`: the scheme's. */
static const char *const *range_headers(struct attempt *a, const char *const *headers)
{
	struct range_piece *p = a->p;
	struct range_object *o = p->object;
	struct arena *arena = &p->arena;

	headers = store_headers_as_stored(arena, redirect_headers(&a->at, headers));
	headers = store_headers_with(
		arena, headers,
		arena_printf(arena, "Range: bytes=%llu-%llu",
			     (unsigned long long)(p->offset + p->done),
			     (unsigned long long)(p->offset + p->len - 1)));
	pthread_mutex_lock(&o->lock);
	if (o->etag && *o->etag == '"' && http_is_etag(o->etag))
		headers = store_headers_with(
			arena, headers, arena_printf(arena, "If-Match: %s", o->etag));
	pthread_mutex_unlock(&o->lock);
	return headers;
}

static enum next locate(struct attempt *a, const char *const **headers, struct error *err)
{
	struct range_object *o = a->p->object;
	struct arena *arena = &a->p->arena;
	struct store_call call = { 0 };
	int refused;

	pthread_mutex_lock(&o->lock);
	a->was_redirected = o->redirected_to;
	a->at.url = o->redirected_to ? arena_strdup(arena, o->redirected_to) : NULL;
	a->at.cross_origin = a->at.url && !o->redirected_same_origin;
	refused = o->redirected_to ? 0 : o->refused;
	pthread_mutex_unlock(&o->lock);
	a->renewed = refused != 0;
	*headers = NULL;
	if (a->at.cross_origin)
		return DONE;
	if (o->conf.scheme->locate(o->conf.store, &o->o, refused, arena, &call, err))
		return retry_error(err) ? LATER : FATAL;
	*headers = call.headers;
	if (!a->at.url)
		a->at.url = call.url;
	return DONE;
}

static void remember(const struct attempt *a, const struct http_response *r)
{
	struct range_object *o = a->p->object;

	pthread_mutex_lock(&o->lock);
	o->now = r->date;
	o->changed = http_date(a->p->reply.modified);
	if (a->at.hops && !str_eq(o->redirected_to, a->at.url)) {
		o->redirected_to = arena_strdup(&o->arena, a->at.url);
		o->redirected_same_origin = !a->at.cross_origin;
	}
	pthread_mutex_unlock(&o->lock);
}

/* ---- the response ---- */

static enum next explain(const struct attempt *a, const struct http_response *r,
			 struct error *err)
{
	const struct range_object *o = a->p->object;
	const char *body = r->body.data ? (const char *)r->body.data : "";

	retry_fail(err, r->status);
	if (o->conf.scheme->explain && !a->was_redirected)
		o->conf.scheme->explain(o->conf.store, &o->o, r->status, body, err);
	return FATAL;
}

/* An expired redirect or credentials: try once more. */
static enum next refused(struct attempt *a, const struct http_response *r,
			 struct error *err)
{
	struct range_object *o = a->p->object;
	bool again;

	retry_fail(err, r->status);
	pthread_mutex_lock(&o->lock);
	again = a->was_redirected || (!a->renewed && reply_refuses(r->status));
	if (a->was_redirected)
		o->redirected_to = NULL;
	else
		o->refused = r->status;
	pthread_mutex_unlock(&o->lock);
	return again ? AT_ONCE : explain(a, r, err);
}

static enum next failed_status(struct attempt *a, const struct http_response *r,
			       struct error *err)
{
	struct range_piece *p = a->p;

	if (r->status == 416 && !p->to && p->reply.total == 0)
		return check_size(p->object, 0, err) ? FATAL : DONE;
	if (r->status == 412 || r->status == 416) {
		changed(r->status == 412 ? "If-Match" : "the file became shorter", err);
		return FATAL;
	}
	if (retry_status(r->status)) {
		retry_fail(err, r->status);
		a->pause_ms = r->retry_after_ms;
		return LATER;
	}
	if (reply_refuses(r->status) || a->was_redirected)
		return refused(a, r, err);
	return explain(a, r, err);
}

static enum next handle_response(struct attempt *a, const struct http_response *r,
				 struct error *err)
{
	struct range_piece *p = a->p;

	if (r->status < 200 || r->status >= 300)
		return failed_status(a, r, err);
	if (!p->checked && check_head(p, err))
		return retry_error(err) ? LATER : FATAL;
	remember(a, r);
	if (p->done == p->len)
		return DONE;
	error_set(err, ERR_IO, "the response ended %llu bytes early",
		  (unsigned long long)(p->len - p->done));
	return LATER;
}

static enum next send(struct attempt *a, const char *const *headers, struct error *err)
{
	struct range_piece *p = a->p;
	struct http_request req = { .method = "GET",
				    .idle_ms = IDLE_MS,
				    .max_body = MAX_ERROR_BODY,
				    .on_data = on_data,
				    .on_header = on_header,
				    .ctx = p,
				    .cancel = p->cancel };

	for (bool again = true; again;) {
		cleanup_http_response struct http_response r = { .retry_after_ms = -1 };

		req.headers = range_headers(a, headers);
		req.url = a->at.url;
		p->reply = REPLY_NONE;
		p->checked = false;
		if (http_do(p->object->conf.http, &req, &r, err))
			return retry_error(err) ? LATER : FATAL;
		if (redirect_follow(&a->at, &r, &again, err))
			return FATAL;
		if (!again)
			return handle_response(a, &r, err);
	}
	return FATAL;
}

static enum next attempt(struct range_piece *p, int64_t *ret_pause_ms, struct error *err)
{
	struct attempt a = { .p = p,
			     .at = { .arena = &p->arena, .secure_only = true },
			     .pause_ms = -1 };
	const char *const *headers;
	enum next next = locate(&a, &headers, err);

	if (next == DONE)
		next = send(&a, headers, err);
	*ret_pause_ms = a.pause_ms;
	return next;
}

static bool cancelled(const struct range_piece *p)
{
	return stop_requested() || __atomic_load_n(p->cancel, __ATOMIC_RELAXED);
}

/* Pause in steps, to notice that another piece failed. */
static void wait_for(const struct range_piece *p, int64_t ms)
{
	int64_t until = clock_ms() + ms;

	for (int64_t left; !cancelled(p) && (left = until - clock_ms()) > 0;)
		if (stop_wait(left < 500 ? left : 500))
			break;
}

int range_piece_run(struct range_piece *p, struct error *err)
{
	int tries = p->object->conf.tries ? p->object->conf.tries : RETRY_TRIES;
	uint64_t mark = 0;

	for (int tried = 0;;) {
		int64_t pause_ms;
		enum next next;

		*err = (struct error){ 0 };
		next = attempt(p, &pause_ms, err);
		arena_clear(&p->arena);
		if (next == DONE)
			return 0;
		if (p->done >= mark + PROGRESS) {
			mark = p->done;
			tried = 0;
		}
		if (next == LATER && tried < tries && !cancelled(p))
			wait_for(p, retry_pause(tried, pause_ms));
		if (next == FATAL || tried++ >= tries || cancelled(p))
			return err->kind ? error_wrap(err, "%s", p->object->name)
					 : error_set(err, ERR_STOPPED, "stopped");
	}
}
