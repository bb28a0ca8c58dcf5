/* Requests a range of a file, following redirects; see fetch_impl.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/crc.h"
#include "net/redirect.h"
#include "net/retry.h"
#include "net/uri.h"
#include "store/fetch_impl.h"

enum { MAX_ERROR_BODY = 1 << 20 };

static int stop_with(struct piece *p, enum outcome outcome)
{
	p->outcome = outcome;
	return -1;
}

/* ---- body ---- */

static int write_all(struct piece *p, const char *data, size_t len, struct error *err)
{
	int64_t at = p->pos;

	while (len) {
		ssize_t n = pwrite(p->f->fd, data, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == ENOSPC || errno == EDQUOT))
			disk_full(p->fetch,
				  fetch_count_of(&p->fetch->bytes) -
					  fetch_count_of(&p->fetch->bytes_done),
				  err);
		else if (n < 0)
			error_errno(err, errno, "writing to %s", p->fetch->target.path);
		if (n < 0)
			return stop_with(p, PIECE_FATAL);
		data += n;
		len -= (size_t)n;
		at += n;
	}
	return 0;
}

/* Bytes at p->pos: write, count, hash if in order, record. */
static int put_bytes(struct piece *p, const char *data, size_t len, struct error *err)
{
	if (write_all(p, data, len, err))
		return -1;
	if ((p->f->o.size < 0 || p->f->o.size >= JOURNAL_FROM) &&
	    file_has_sums(p->fetch, p->f))
		p->crc = crc32c(p->crc, data, len);
	if (p->hashes) {
		verify_add(p->f->verify, data, len);
		fetch_count(&p->f->hashed, (int64_t)len);
	}
	fetch_count(&p->fetch->bytes_fetched, (int64_t)len);
	fetch_count(&p->fetch->bytes_done, (int64_t)len);
	fetch_count(&p->f->written, (int64_t)len);
	fetch_count(&p->pos, (int64_t)len);
	if (p->pos - p->recorded >= GRAIN)
		file_record(p->fetch, p);
	return 0;
}

/* ---- response headers ---- */

static int changed(struct piece *p, struct error *err, const char *what)
{
	error_set(err, ERR_CONFLICT, "the source keeps changing during the download (%s)",
		  what);
	return stop_with(p, PIECE_CHANGED);
}

/* What identifies the contents so far, which another piece may learn; it stays valid. */
static const char *tag_so_far(const struct piece *p)
{
	const char *tag;

	pthread_mutex_lock(&p->fetch->lock);
	tag = p->f->etag;
	pthread_mutex_unlock(&p->fetch->lock);
	return tag;
}

static int check_tag(struct piece *p, struct error *err)
{
	struct file *file = p->f;
	const char *tag = p->reply.etag ? p->reply.etag : p->reply.modified;
	int rc = 0;

	/* a digest identifies contents better than any tag */
	if (!tag || (file->o.digest != STORE_DIGEST_NONE && !file->o.etag))
		return 0;
	pthread_mutex_lock(&p->fetch->lock);
	if (!file->etag)
		file->etag = arena_strdup(&file->arena, tag);
	else if (!reply_same_tag(file->etag, tag) && (p->reply.etag || !file->o.etag))
		rc = -1;
	pthread_mutex_unlock(&p->fetch->lock);
	return rc ? changed(p, err, "different ETag") : 0;
}

static int check_size(struct piece *p, int64_t total, struct error *err)
{
	struct file *file = p->f;
	char text[120];

	if (total < 0)
		return 0;
	if (file->o.size >= 0 && file->o.size != total) {
		snprintf(text, sizeof(text), "the server has %lld bytes, expected %lld",
			 (long long)total, (long long)file->o.size);
		return changed(p, err, text);
	}
	if (file->o.size >= 0)
		return 0;
	if (plan_size_known(p->fetch, file, total, err) ||
	    file_reserve(p->fetch, file, err))
		return stop_with(p, PIECE_FATAL);
	return 0;
}

/* The digest needs the size, which is known only now. */
static void begin_verify(struct piece *p)
{
	struct file *file = p->f;

	pthread_mutex_lock(&p->fetch->lock);
	if (!file->verify) {
		file->verify = verify_new(&file->o);
		if (file->verify && !file->hashing && p->pos == 0)
			p->hashes = file->hashing = true;
	}
	pthread_mutex_unlock(&p->fetch->lock);
}

/* Is it the first request for a file whose size is not known, with a range? */
static bool is_first_range(const struct piece *p)
{
	return p->f->o.size < 0 && p->pos == 0 && !p->no_ranges;
}

/* What the server says of the first range is of no use: ask for all of the file. */
static int ask_without_range(struct piece *p, struct error *err)
{
	pthread_mutex_lock(&p->fetch->lock);
	p->f->no_ranges = true;
	pthread_mutex_unlock(&p->fetch->lock);
	error_set(err, ERR_UNSUPPORTED, "the server does not say what a range is of");
	return stop_with(p, PIECE_RETRY_NOW);
}

static int broken(struct piece *p, struct error *err, const char *what)
{
	if (p->reply.status == 206 && is_first_range(p))
		return ask_without_range(p, err);
	error_set(err, ERR_FORMAT, "invalid response: %s", what);
	return stop_with(p, PIECE_RETRY);
}

static int check_range(struct piece *p, struct error *err)
{
	if (p->reply.from != p->pos || p->reply.to < p->reply.from)
		return broken(p, err, "Content-Range is not the requested range");
	if (check_size(p, p->reply.total, err))
		return -1;
	if (p->f->o.size < 0)
		return broken(p, err, "Content-Range without the total size");
	/* p->end may have been lowered */
	if (p->reply.to >= p->end)
		return broken(p, err, "Content-Range is not the requested range");
	return 0;
}

/* 200: the whole file, from its first byte. */
static int check_whole(struct piece *p, struct error *err)
{
	if (p->reply.length >= 0 && check_size(p, p->reply.length, err))
		return -1;
	if (p->from == 0 && p->pos == 0 && p->end == p->f->o.size)
		return 0;
	if (!plan_claim_all(p->fetch, p)) {
		error_set(err, ERR_UNSUPPORTED, "the server does not support ranges");
		return stop_with(p, PIECE_RETRY_NOW);
	}
	p->skip = p->pos;
	return 0;
}

/*
 * Has the server the local file, by its date and size? If-Modified-Since would not tell: an
 * older file, put in its place, is not modified since, either.
 */
static bool is_local(const struct piece *p)
{
	const struct file *file = p->f;
	int64_t size = p->reply.status == 206 ? p->reply.total : p->reply.length;

	return !tag_so_far(p) && p->pos == 0 && file->local_validator &&
	       str_eq(p->reply.modified, file->local_validator) &&
	       (size < 0 || size == file->local_size);
}

/* The local file is the current one. */
static void keep_local(struct piece *p)
{
	pthread_mutex_lock(&p->fetch->lock);
	p->f->unchanged = true;
	pthread_mutex_unlock(&p->fetch->lock);
	p->end = p->pos;
}

static void note_first_byte(struct piece *p)
{
	pthread_mutex_lock(&p->fetch->lock);
	p->first_ms = clock_ms();
	pthread_mutex_unlock(&p->fetch->lock);
}

static int check_head(struct piece *p, struct error *err)
{
	p->checked = true;
	note_first_byte(p);
	if (is_local(p)) {
		keep_local(p);
		error_set(err, ERR_STOPPED, "unchanged");
		return stop_with(p, PIECE_RETRY_NOW);
	}
	if (p->reply.encoding && !p->fetch->conf->scheme->as_stored &&
	    !reply_is_as_named(&p->reply, p->f->o.path))
		return broken(p, err, "unexpected Content-Encoding");
	if (p->reply.status != 200 && p->reply.status != 206)
		return broken(p, err, "unexpected status");
	if (check_tag(p, err) ||
	    (p->reply.status == 206 ? check_range(p, err) : check_whole(p, err)))
		return -1;
	if (p->f->o.size >= 0)
		begin_verify(p);
	return 0;
}

/* A response without ranges continues past the piece: it has all its bytes. */
static int finish_response(struct piece *p, const char *bytes, struct error *err)
{
	if (p->reply.status != 200 || p->end >= p->f->o.size)
		return broken(p, err, "more bytes than requested");
	if (p->pos < p->end && put_bytes(p, bytes, (size_t)(p->end - p->pos), err))
		return -1;
	error_set(err, ERR_STOPPED, "received completely");
	return stop_with(p, PIECE_RETRY_NOW);
}

static int on_data(void *ctx, const void *data, size_t len, struct error *err)
{
	struct piece *p = ctx;
	const char *bytes = data;
	int64_t pass;

	if (!p->checked && check_head(p, err))
		return -1;
	if (__atomic_load_n(&p->f->restart, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&p->cancel, __ATOMIC_RELAXED)) {
		error_set(err, ERR_STOPPED, "stopped");
		return stop_with(p, PIECE_RETRY_NOW);
	}
	pass = p->skip < (int64_t)len ? p->skip : (int64_t)len;
	p->skip -= pass;
	bytes += pass;
	len -= (size_t)pass;
	if ((int64_t)len > p->end - p->pos)
		return finish_response(p, bytes, err);
	return len ? put_bytes(p, bytes, len, err) : 0;
}

static int on_header(void *ctx, int status, const char *name, const char *value,
		     struct error *err)
{
	struct piece *p = ctx;

	if (!reply_header(&p->reply, &p->arena, status, name, value, err))
		return 0;
	return status == 206 && is_first_range(p) ? ask_without_range(p, err)
						  : stop_with(p, PIECE_RETRY);
}

/* ---- the request ---- */

struct request {
	struct redirect at;
	const char *const *headers;
};

static const char *range_header(const struct piece *p, struct arena *a)
{
	int64_t size = p->f->o.size, end = size < 0 ? p->pos + PIECE_MIN : p->end;

	if (p->pos == 0 && (p->no_ranges || (size >= 0 && p->end == size)))
		return NULL;
	return arena_printf(a, "Range: bytes=%lld-%lld", (long long)p->pos,
			    (long long)end - 1);
}

static const char *condition_header(const struct piece *p, struct arena *a)
{
	const struct file *file = p->f;
	const char *tag = tag_so_far(p);

	if (tag && *tag == '"' && http_is_etag(tag))
		return arena_printf(a, "If-Match: %s", tag);
	if (!tag && file->local_validator && p->pos == 0 &&
	    http_is_etag(file->local_validator))
		return arena_printf(a, "If-None-Match: %s", file->local_validator);
	return NULL;
}

/* `headers`: the scheme's. */
static void set_headers(struct piece *p, struct request *r, const char *const *headers)
{
	struct arena *a = &p->arena;
	const char *const more[] = { range_header(p, a), condition_header(p, a) };

	r->headers = store_headers_as_stored(a, redirect_headers(&r->at, headers));
	for (size_t i = 0; i < N_ELEMENTS(more); i++)
		if (more[i])
			r->headers = store_headers_with(a, r->headers, more[i]);
}

static int locate(struct fetch *f, struct piece *p, struct request *r,
		  const char *const **headers, struct error *err)
{
	struct file *file = p->f;
	struct store_call call = { 0 };
	int refused;

	pthread_mutex_lock(&f->lock);
	r->at.url =
		file->redirected_to ? arena_strdup(&p->arena, file->redirected_to) : NULL;
	r->at.cross_origin = r->at.url && !file->redirected_same_origin;
	r->at.secure_only = !verify_is_proof(&file->o);
	p->known_redirect = r->at.url;
	refused = file->redirected_to ? 0 : file->refused;
	p->renewed = refused != 0;
	p->no_ranges = file->no_ranges;
	pthread_mutex_unlock(&f->lock);
	*headers = NULL;
	if (r->at.cross_origin)
		return 0;
	if (f->conf->scheme->locate(f->conf->store, &file->o, refused, &p->arena, &call,
				    err))
		return stop_with(p, retry_error(err) ? PIECE_RETRY : PIECE_FATAL);
	*headers = call.headers;
	if (!r->at.url)
		r->at.url = call.url;
	return 0;
}

static void remember(struct fetch *f, struct piece *p, const struct request *r)
{
	struct file *file = p->f;

	pthread_mutex_lock(&f->lock);
	if (r->at.hops && !str_eq(file->redirected_to, r->at.url)) {
		file->redirected_to = arena_strdup(&file->arena, r->at.url);
		file->redirected_same_origin = !r->at.cross_origin;
	}
	pthread_mutex_unlock(&f->lock);
}

/* ---- the response ---- */

static void explain(struct fetch *f, struct piece *p, const struct http_response *r,
		    struct error *err)
{
	const struct scheme *s = f->conf->scheme;
	const char *body = r->body.data ? (const char *)r->body.data : "";

	retry_fail(err, r->status);
	if (s->explain && !p->known_redirect)
		s->explain(f->conf->store, &p->f->o, r->status, body, err);
	p->outcome = err->kind == ERR_CONFLICT ? PIECE_CHANGED : PIECE_FATAL;
}

/* An expired redirect or credentials: try once more. */
static void refused(struct fetch *f, struct piece *p, const struct http_response *r,
		    struct error *err)
{
	struct file *file = p->f;
	bool again = true;

	pthread_mutex_lock(&f->lock);
	if (p->known_redirect) {
		if (str_eq(file->redirected_to, p->known_redirect)) {
			file->redirected_to = NULL;
			again = ++file->tried <= 3;
		}
	} else {
		again = !p->renewed && reply_refuses(r->status);
		file->refused = r->status;
	}
	pthread_mutex_unlock(&f->lock);
	if (again)
		p->outcome = PIECE_RETRY_NOW;
	else
		explain(f, p, r, err);
}

static void failed_status(struct fetch *f, struct piece *p, const struct http_response *r,
			  struct error *err)
{
	if (r->status == 304 && p->f->local_validator) {
		keep_local(p);
	} else if (r->status == 416 && p->f->o.size < 0 && p->reply.total == 0) {
		if (check_size(p, 0, err) == 0)
			begin_verify(p);
	} else if (r->status == 416 && is_first_range(p)) {
		/* the file is empty, or ends before the range does */
		ask_without_range(p, err);
	} else if (r->status == 412 || r->status == 416) {
		changed(p, err,
			r->status == 412 ? "If-Match" : "the file became shorter");
	} else if (retry_status(r->status)) {
		retry_fail(err, r->status);
		p->pause_ms = r->retry_after_ms;
		p->outcome = PIECE_RETRY;
	} else if (reply_refuses(r->status) || p->known_redirect) {
		refused(f, p, r, err);
	} else {
		explain(f, p, r, err);
	}
}

static void good_response(struct fetch *f, struct piece *p, const struct request *r,
			  struct error *err)
{
	if (!p->checked && check_head(p, err))
		return;
	remember(f, p, r);
	if (p->f->o.size < 0) { /* the size was unknown until now: the file is complete */
		if (plan_size_known(f, p->f, p->pos, err))
			p->outcome = PIECE_FATAL;
		p->end = p->pos;
		begin_verify(p);
	} else if (p->pos < p->end && p->pos == p->from) {
		error_set(err, ERR_IO, "no data received");
		p->outcome = PIECE_RETRY;
	}
}

static bool has_stalled(const struct piece *p)
{
	bool ret;

	pthread_mutex_lock(&p->fetch->lock);
	ret = p->stalled;
	pthread_mutex_unlock(&p->fetch->lock);
	return ret;
}

static void failed_call(struct fetch *f, struct piece *p, struct error *err)
{
	if (err->kind == ERR_STOPPED && !stop_requested() && has_stalled(p)) {
		error_set(err, ERR_TIMEOUT, "the transfer stalled");
		p->outcome = PIECE_RETRY;
	}
	if (p->outcome != PIECE_OK)
		return;
	if (err->kind == ERR_STOPPED)
		p->outcome =
			stop_requested() || __atomic_load_n(&f->failed, __ATOMIC_RELAXED)
				? PIECE_FATAL
				: PIECE_RETRY_NOW;
	else
		p->outcome = retry_error(err) ? PIECE_RETRY : PIECE_FATAL;
}

/* False: redirected to r->at. */
static bool send_request(struct fetch *f, struct piece *p, struct request *r,
			 struct error *err)
{
	struct http_request req = { .method = "GET",
				    .url = r->at.url,
				    .headers = r->headers,
				    .idle_ms = IDLE_MS,
				    .max_body = MAX_ERROR_BODY,
				    .on_data = on_data,
				    .on_header = on_header,
				    .ctx = p,
				    .cancel = &p->cancel };
	cleanup_http_response struct http_response answer = { .retry_after_ms = -1 };
	bool again;

	p->checked = false;
	p->reply = REPLY_NONE;
	p->skip = 0;
	if (http_do(f->conf->http, &req, &answer, err)) {
		if (p->pos > p->from)
			remember(f, p, r);
		failed_call(f, p, err);
		return true;
	}
	if (redirect_follow(&r->at, &answer, &again, err)) {
		stop_with(p, PIECE_FATAL);
		return true;
	}
	if (again)
		return false;
	if (answer.status >= 200 && answer.status < 300)
		good_response(f, p, r, err);
	else
		failed_status(f, p, &answer, err);
	return true;
}

static void run_http(struct fetch *f, struct piece *p, struct error *err)
{
	struct request r = { .at.arena = &p->arena };
	const char *const *headers;

	if (locate(f, p, &r, &headers, err))
		return;
	do {
		set_headers(p, &r, headers);
	} while (!send_request(f, p, &r, err));
}

/* Open it if it is as it was listed. */
static int open_local(struct fetch *f, struct piece *p, struct error *err)
{
	int fd = -1;

	if (f->conf->scheme->local_open(f->conf->store, &p->f->o, &fd, err))
		p->outcome = err->kind == ERR_CONFLICT ? PIECE_CHANGED : PIECE_FATAL;
	return fd;
}

static void run_local(struct fetch *f, struct piece *p, struct error *err)
{
	cleanup_free char *chunk = xmalloc(CHUNK);
	const char *path = p->f->o.key;
	cleanup_fd int fd = open_local(f, p, err), after = -1;

	while (p->outcome == PIECE_OK && p->pos < p->end) {
		size_t want = p->end - p->pos < CHUNK ? (size_t)(p->end - p->pos) : CHUNK;
		ssize_t n = pread(fd, chunk, want, p->pos);

		if (stop_requested() || __atomic_load_n(&p->cancel, __ATOMIC_RELAXED)) {
			error_set(err, ERR_STOPPED, "stopped");
			p->outcome = PIECE_RETRY_NOW;
		} else if (n < 0) {
			error_errno(err, errno, "%s", path);
			p->outcome = PIECE_FATAL;
		} else if (!n) {
			changed(p, err, "the file became shorter");
		} else {
			put_bytes(p, chunk, (size_t)n, err);
		}
	}
	if (p->outcome == PIECE_OK) /* and still is, after all was read */
		after = open_local(f, p, err);
}

/* A piece's speed and latency determine the size of the next one. */
static void adjust_piece_size(struct fetch *f, const struct piece *p)
{
	int64_t now = clock_ms(), wait = p->first_ms - p->began_ms;
	int64_t took = now - p->first_ms, rate;

	if (!p->first_ms || p->pos - p->from < PIECE_MIN / 2)
		return;
	rate = (p->pos - p->from) * 1000 / (took > 0 ? took : 1);
	pthread_mutex_lock(&f->lock);
	/* at most a tenth of the time waiting */
	f->piece_bytes = (3 * f->piece_bytes + rate * (wait > 0 ? wait : 1) / 100) / 4;
	f->rate = f->rate ? (7 * f->rate + rate) / 8 : rate;
	pthread_mutex_unlock(&f->lock);
}

void piece_run(struct fetch *f, struct piece *p, struct error *err)
{
	p->outcome = PIECE_OK;
	p->pause_ms = -1;
	if (f->conf->scheme->local_open)
		run_local(f, p, err);
	else
		run_http(f, p, err);
	if (p->outcome != PIECE_CHANGED)
		file_record(f, p);
	adjust_piece_size(f, p);
}
