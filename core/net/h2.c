/* h2.c - an HTTP/2 connection with nghttp2 (net/h2.h). */
#include "net/h2.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum {
	MAX_HEADERS = 16 * 1024, /* of a request, counted as in RFC 9113 */
	HEADER_OVERHEAD = 32,
	SMALL = 4096, /* bytes of a request that an exhausted budget still allows */
	MAX_STREAMS = 100,
	MAX_RESPONSE_HEADERS = 16,
	MAX_PARTS = 64,           /* parts queued at a time */
	FULL = 1024 * 1024,       /* queued bytes, above which no more are requested */
	MAX_CONTROL = 256 * 1024, /* bytes of frames other than DATA */
	MAX_CONTINUATIONS = 4,
	WINDOW = 1024 * 1024, /* flow-control window of a request's body */
	MAX_FRAMES = 10000,   /* control frames queued for a peer that does not read */
	RESETS = 1000,        /* streams reset by either side: burst; then one in ... */
	RESET_MS = 30,
};

struct h2_stream {
	struct h2_stream *prev, *next; /* in the list of open streams, or of ended ones */
	struct h2_conn *conn;
	int32_t id;
	struct buf headers; /* "name\0value\0", each */
	size_t header_bytes;
	struct buf request;
	size_t held;      /* bytes of both that count in the limits */
	size_t body_held; /* bytes of the body, and of its piece, that count */
	size_t piece_held;
	int64_t since;           /* when the request began */
	bool headed, complete;   /* all of the headers, of the request were received */
	bool accepted, answered; /* by begin(); h2_respond() was called */
	struct h2_body body;
	struct h2_piece piece; /* the rest of the current one */
	uint64_t listed;       /* the last queue that has parts of its body */
};

/* A part to send: of a body, or at `offset` of `control`. */
struct part {
	const uint8_t *body;
	size_t offset, len;
};

struct h2_conn {
	nghttp2_session *session;
	const struct h2_conf *conf;
	struct h2_budget *budget;          /* or NULL */
	struct h2_budget *body_budget;     /* or NULL */
	const char *peer;                  /* address, or NULL */
	struct h2_stream *streams, *ended; /* ended ones have parts in the queue */
	size_t n_streams, held;
	int64_t resets_until; /* when the resets so far would be one in RESET_MS */
	struct buf control;
	struct part parts[MAX_PARTS];
	size_t first, n, queued; /* parts not sent yet, and their bytes */
	uint64_t queue;          /* the number of this queue, from 1 */
	void **to_free;          /* pieces that are in the queue to their end */
	size_t n_to_free, cap_to_free;
};

/* ---- streams ----------------------------------------------------------------------- */

/* Free a piece once everything that is queued now has been sent. */
static void free_after_send(struct h2_conn *c, void *piece)
{
	if (!piece)
		return;
	if (c->n_to_free == c->cap_to_free) {
		c->cap_to_free = 2 * c->cap_to_free + 8;
		c->to_free =
			xreallocarray(c->to_free, c->cap_to_free, sizeof(*c->to_free));
	}
	c->to_free[c->n_to_free++] = piece;
}

static void free_sent(struct h2_conn *c)
{
	while (c->n_to_free)
		free(c->to_free[--c->n_to_free]);
}

static void stream_link(struct h2_stream **list, struct h2_stream *s)
{
	s->prev = NULL;
	s->next = *list;
	if (*list)
		(*list)->prev = s;
	*list = s;
}

static void stream_unlink(struct h2_stream **list, struct h2_stream *s)
{
	if (s->prev)
		s->prev->next = s->next;
	else
		*list = s->next;
	if (s->next)
		s->next->prev = s->prev;
}

static void refund(struct h2_budget *b, size_t n)
{
	for (; b; b = b->all)
		atomic_fetch_sub(&b->used, n);
}

/* False: that would exceed it. */
static bool reserve(struct h2_budget *budget, size_t n, bool small)
{
	bool full = false;

	for (struct h2_budget *b = budget; b; b = b->all)
		full |= atomic_fetch_add(&b->used, n) + n >
			b->max + (small ? b->max / 4 : 0);
	if (full)
		refund(budget, n);
	return !full;
}

/* Count bytes of a request; false: that would exceed a limit. */
static bool charge(struct h2_stream *s, size_t n)
{
	struct h2_conn *c = s->conn;

	if (c->held + n > c->conf->max_body + MAX_STREAMS * MAX_HEADERS ||
	    !reserve(c->budget, n, s->held + n <= SMALL))
		return false;
	c->held += n;
	s->held += n;
	return true;
}

static void drop_request(struct h2_stream *s)
{
	buf_release(&s->headers);
	buf_release(&s->request);
	s->conn->held -= s->held;
	refund(s->conn->budget, s->held);
	s->held = 0;
}

static void stream_free(struct h2_stream *s)
{
	if (s->body.release)
		s->body.release(s->body.ctx);
	free(s->piece.take);
	refund(s->conn->body_budget, s->body_held + s->piece_held);
	drop_request(s);
	free(s);
}

static void streams_free(struct h2_stream **list)
{
	while (*list) {
		struct h2_stream *s = *list;

		*list = s->next;
		stream_free(s);
	}
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame,
			    void *ctx)
{
	struct h2_conn *c = ctx;
	struct h2_stream *s;

	if (frame->hd.type != NGHTTP2_HEADERS ||
	    frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	s = xcalloc(1, sizeof(*s));
	s->conn = c;
	s->since = clock_ms();
	s->id = frame->hd.stream_id;
	s->headers.max = 2 * MAX_HEADERS;
	s->request.max = c->conf->max_body;
	stream_link(&c->streams, s);
	c->n_streams++;
	nghttp2_session_set_stream_user_data(session, s->id, s);
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
		     const uint8_t *name, size_t name_len, const uint8_t *value,
		     size_t value_len, uint8_t flags, void *ctx)
{
	struct h2_stream *s =
		nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	if (!s || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	s->header_bytes += name_len + value_len + HEADER_OVERHEAD;
	if (s->header_bytes > MAX_HEADERS || !charge(s, name_len + value_len + 2))
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	buf_add(&s->headers, name, name_len);
	buf_add(&s->headers, "", 1);
	buf_add(&s->headers, value, value_len);
	buf_add(&s->headers, "", 1);
	return 0;
}

static int refuse(nghttp2_session *session, int32_t id)
{
	return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id,
					 NGHTTP2_ENHANCE_YOUR_CALM);
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
		   const uint8_t *data, size_t len, void *ctx)
{
	struct h2_conn *c = ctx;
	struct h2_stream *s = nghttp2_session_get_stream_user_data(session, id);
	bool too_large;

	if (!s || s->answered)
		return 0;
	too_large = len > s->request.max - s->request.len;
	if (!too_large && charge(s, len)) {
		buf_add(&s->request, data, len);
		too_large = c->conf->is_too_large &&
			    c->conf->is_too_large(&s->request, s->request.max);
		if (!too_large)
			return 0;
	}
	if (!c->conf->refuse)
		return refuse(session, id);
	c->conf->refuse(c->conf->ctx, s, too_large);
	return 0;
}

static void judge(struct h2_stream *s)
{
	const struct h2_conf *conf = s->conn->conf;
	size_t max_body = conf->max_body;
	enum h2_verdict verdict =
		conf->begin ? conf->begin(conf->ctx, s, &max_body) : H2_ACCEPTED;

	s->accepted = verdict == H2_ACCEPTED;
	s->request.max = max_body;
}

static void handle(struct h2_stream *s)
{
	const struct h2_conf *conf = s->conn->conf;

	if (s->accepted && s->complete && !s->answered)
		conf->handle(conf->ctx, s);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	bool headers = frame->hd.type == NGHTTP2_HEADERS;
	struct h2_stream *s;

	if (!headers && (frame->hd.type != NGHTTP2_DATA || !end))
		return 0;
	s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (!s || (headers && s->headed && !end))
		return 0;
	s->complete = end;
	if (!s->headed)
		judge(s);
	s->headed = true;
	handle(s);
	return 0;
}

/* Reset a stream answered before the request's end (NO_ERROR, RFC 9113, 8.1). */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct h2_stream *s;

	if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) ||
	    !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (s && !s->complete)
		return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, s->id,
						 NGHTTP2_NO_ERROR);
	return 0;
}

/* Limit resets by both sides: a peer can provoke ours (CVE-2025-8671), too. */
static void count_reset(struct h2_conn *c)
{
	int64_t now = clock_ms();

	c->resets_until = (c->resets_until > now ? c->resets_until : now) + RESET_MS;
	if (c->resets_until - now > RESETS * RESET_MS)
		nghttp2_session_terminate_session(c->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
	struct h2_conn *c = ctx;
	struct h2_stream *s = nghttp2_session_get_stream_user_data(session, id);

	if (!s)
		return 0;
	if (code != NGHTTP2_NO_ERROR)
		count_reset(c);
	drop_request(s);
	c->n_streams--;
	stream_unlink(&c->streams, s);
	/*
	 * Only streams in the current queue remain in memory, in case the peer does not
	 * read.
	 */
	if (s->listed == c->queue)
		stream_link(&c->ended, s);
	else
		stream_free(s);
	return 0;
}

/* ---- sending ----------------------------------------------------------------------- */

static bool is_full(const struct h2_conn *c, size_t parts)
{
	return c->n + parts > MAX_PARTS || c->queued >= FULL ||
	       c->control.len >= MAX_CONTROL;
}

static void add_control(struct h2_conn *c, const uint8_t *data, size_t len)
{
	struct part *last = c->n ? &c->parts[c->n - 1] : NULL;

	if (last && !last->body)
		last->len += len;
	else
		c->parts[c->n++] = (struct part){ NULL, c->control.len, len };
	buf_add(&c->control, data, len);
	c->queued += len;
}

static nghttp2_ssize on_send(nghttp2_session *session, const uint8_t *data, size_t len,
			     int flags, void *ctx)
{
	struct h2_conn *c = ctx;

	if (is_full(c, 1))
		return NGHTTP2_ERR_WOULDBLOCK;
	add_control(c, data, len);
	return (nghttp2_ssize)len;
}

static int on_send_data(nghttp2_session *session, nghttp2_frame *frame,
			const uint8_t *head, size_t len, nghttp2_data_source *source,
			void *ctx)
{
	struct h2_conn *c = ctx;
	struct h2_stream *s = source->ptr;

	if (is_full(c, 2))
		return NGHTTP2_ERR_WOULDBLOCK;
	add_control(c, head, 9);
	if (!len)
		return 0;
	c->parts[c->n++] = (struct part){ s->piece.data, 0, len };
	c->queued += len;
	s->listed = c->queue;
	s->piece.data = (const uint8_t *)s->piece.data + len;
	s->piece.len -= len;
	return 0;
}

static nghttp2_ssize frame_size(nghttp2_session *session, uint8_t type, int32_t id,
				int32_t session_window, int32_t stream_window,
				uint32_t max_frame, void *ctx)
{
	int64_t n = session_window < stream_window ? session_window : stream_window;

	return (nghttp2_ssize)(n < max_frame ? n : max_frame);
}

static nghttp2_nv pair(const struct h2_header *h)
{
	return (nghttp2_nv){ .name = (uint8_t *)(uintptr_t)h->name,
			     .value = (uint8_t *)(uintptr_t)h->value,
			     .namelen = strlen(h->name),
			     .valuelen = strlen(h->value) };
}

static size_t pairs(nghttp2_nv *to, const struct h2_header *headers, size_t n)
{
	n = n < MAX_RESPONSE_HEADERS ? n : MAX_RESPONSE_HEADERS;
	for (size_t i = 0; i < n; i++)
		to[i] = pair(&headers[i]);
	return n;
}

/* Request the next piece. False: it would exceed the budget; a single one never does. */
static bool next_piece(struct h2_stream *s)
{
	struct h2_budget *budget = s->conn->body_budget;
	size_t n, most = budget ? budget->max / 2 : 0;

	free_after_send(s->conn, s->piece.take);
	refund(budget, s->piece_held);
	s->piece_held = 0;
	s->piece = (struct h2_piece){ 0 };
	s->body.next(s->body.ctx, &s->piece);
	n = s->piece.held < most ? s->piece.held : most;
	if (!reserve(budget, n, false))
		return false;
	s->piece_held = n;
	return true;
}

/* Queue a DATA frame with at most the rest of the current piece. */
static nghttp2_ssize read_body(nghttp2_session *session, int32_t id, uint8_t *data,
			       size_t len, uint32_t *flags, nghttp2_data_source *source,
			       void *ctx)
{
	struct h2_stream *s = source->ptr;
	nghttp2_nv nv[MAX_RESPONSE_HEADERS];

	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (!s->piece.len && !next_piece(s))
		return refuse(session, id) ? NGHTTP2_ERR_CALLBACK_FAILURE
					   : NGHTTP2_ERR_DEFERRED;
	if (s->piece.len)
		return (nghttp2_ssize)(len < s->piece.len ? len : s->piece.len);
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (s->piece.n_trailers) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (nghttp2_submit_trailer(
			    session, id, nv,
			    pairs(nv, s->piece.trailers, s->piece.n_trailers)))
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return 0;
}

void h2_respond(struct h2_stream *s, const struct h2_header *headers, size_t n,
		const struct h2_body *body)
{
	nghttp2_data_provider2 provider = { .source.ptr = s, .read_callback = read_body };
	nghttp2_nv nv[MAX_RESPONSE_HEADERS];

	s->answered = true;
	if (body)
		s->body = *body;
	if (s->body.held && !reserve(s->conn->body_budget, s->body.held, false)) {
		if (refuse(s->conn->session, s->id))
			abort();
		drop_request(s);
		return;
	}
	s->body_held = s->body.held;
	if (nghttp2_submit_response2(s->conn->session, s->id, nv, pairs(nv, headers, n),
				     body ? &provider : NULL))
		nghttp2_submit_rst_stream(s->conn->session, NGHTTP2_FLAG_NONE, s->id,
					  NGHTTP2_INTERNAL_ERROR);
	drop_request(s);
}

/* ---- the connection ---------------------------------------------------------------- */

static nghttp2_session *session_new(struct h2_conn *c)
{
	nghttp2_session_callbacks *on;
	nghttp2_option *option;
	nghttp2_session *session;

	if (nghttp2_session_callbacks_new(&on) || nghttp2_option_new(&option))
		abort();
	nghttp2_session_callbacks_set_on_begin_headers_callback(on, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(on, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(on, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(on, on_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(on, on_frame_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(on, on_close);
	nghttp2_session_callbacks_set_send_callback2(on, on_send);
	nghttp2_session_callbacks_set_send_data_callback(on, on_send_data);
	nghttp2_session_callbacks_set_data_source_read_length_callback2(on, frame_size);
	nghttp2_option_set_max_continuations(option, MAX_CONTINUATIONS);
	nghttp2_option_set_no_closed_streams(option, 1);
	if (nghttp2_session_server_new2(&session, on, c, option))
		abort();
	nghttp2_session_callbacks_del(on);
	nghttp2_option_del(option);
	return session;
}

struct h2_conn *h2_conn_new(const struct h2_conf *conf, struct h2_budget *budget,
			    struct h2_budget *held)
{
	struct h2_conn *c = xcalloc(1, sizeof(*c));
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
		  conf->max_streams ? (uint32_t)conf->max_streams : MAX_STREAMS },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, MAX_HEADERS },
	};

	c->conf = conf;
	c->budget = budget;
	c->body_budget = held;
	c->queue = 1;
	c->control.max = SIZE_MAX / 2; /* is_full() has the limit */
	c->session = session_new(c);
	if (nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings,
				    N_ELEMENTS(settings)) ||
	    nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0,
						  WINDOW))
		abort();
	return c;
}

void h2_conn_free(struct h2_conn *c)
{
	if (!c)
		return;
	nghttp2_session_del(c->session);
	streams_free(&c->streams);
	streams_free(&c->ended);
	free_sent(c);
	free(c->to_free);
	buf_release(&c->control);
	free(c);
}

int h2_feed(struct h2_conn *c, const void *data, size_t len, struct error *err)
{
	nghttp2_ssize n = nghttp2_session_mem_recv2(c->session, data, len);

	if (n < 0)
		return error_set(err, ERR_FORMAT, "HTTP/2: %s", nghttp2_strerror((int)n));
	if (nghttp2_session_get_outbound_queue_size(c->session) > MAX_FRAMES)
		return error_set(
			err, ERR_LIMIT,
			"HTTP/2: over %d frames wait for a peer that does not read",
			MAX_FRAMES);
	return 0;
}

int h2_next(struct h2_conn *c, struct iovec *iov, int max, int *ret_n, struct error *err)
{
	int n = 0, rc;

	if (c->first == c->n) {
		c->first = c->n = c->queued = 0;
		c->queue++;
		buf_clear(&c->control);
		streams_free(&c->ended);
		free_sent(c);
		rc = nghttp2_session_send(c->session);
		if (rc)
			return error_set(err, ERR_IO, "HTTP/2: %s", nghttp2_strerror(rc));
	}
	for (size_t i = c->first; i < c->n && n < max; i++, n++) {
		const struct part *p = &c->parts[i];
		const uint8_t *from = p->body ? p->body : c->control.data;

		iov[n] = (struct iovec){ (void *)(uintptr_t)(from + p->offset), p->len };
	}
	*ret_n = n;
	return 0;
}

void h2_sent(struct h2_conn *c, size_t n)
{
	while (n) {
		struct part *p = &c->parts[c->first];
		size_t part = n < p->len ? n : p->len;

		p->offset += part;
		p->len -= part;
		n -= part;
		c->first += !p->len;
	}
}

bool h2_is_done(const struct h2_conn *c)
{
	return c->first == c->n && !nghttp2_session_want_read(c->session) &&
	       !nghttp2_session_want_write(c->session);
}

size_t h2_streams(const struct h2_conn *c)
{
	return c->n_streams;
}

void h2_resume(struct h2_conn *c)
{
	for (struct h2_stream *s = c->streams; s; s = s->next)
		if (s->headed && !s->accepted && !s->answered) {
			judge(s);
			handle(s);
		}
}

int64_t h2_incomplete_since(const struct h2_conn *c)
{
	int64_t since = 0;

	for (const struct h2_stream *s = c->streams; s; s = s->next)
		if (!s->complete || !s->answered)
			since = !since || s->since < since ? s->since : since;
	return since;
}

void h2_goaway(struct h2_conn *c)
{
	nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE,
			      nghttp2_session_get_last_proc_stream_id(c->session),
			      NGHTTP2_NO_ERROR, NULL, 0);
}

void h2_set_peer(struct h2_conn *c, const char *address)
{
	c->peer = address;
}

const char *h2_peer(const struct h2_stream *s)
{
	return s->conn->peer ? s->conn->peer : "";
}

const char *h2_header(const struct h2_stream *s, const char *name)
{
	const char *p = (const char *)s->headers.data;
	const char *end = p ? p + s->headers.len : NULL;

	while (p < end) {
		const char *value = p + strlen(p) + 1;

		if (str_eq(p, name))
			return value;
		p = value + strlen(value) + 1;
	}
	return NULL;
}

const struct buf *h2_request_body(const struct h2_stream *s)
{
	return &s->request;
}
