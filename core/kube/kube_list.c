/*
 * kube_list.c - lists, decoded object by object while pages arrive, and watches.
 */
#include <string.h>

#include "api/proto.h"
#include "api/split.h"
#include "api/strip.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kube/kube_impl.h"

#define AS_LIST "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
/* etcd's limit of 1.5 MiB, each byte escaped as \u00xx, and managedFields. */
#define MAX_OBJECT ((size_t)16 * 1024 * 1024)
#define MAX_AROUND ((size_t)1024 * 1024)

enum {
	PAGE = 500,
	PAGE_MS = 60 * 1000, /* the API server's own limit for a request */
	/*
	 * timeoutSeconds of a watch is between this and its double. A watch open for
	 * longer has lost its server. Missing bookmarks do not prove that: a kind without
	 * changes has none.
	 */
	WATCH_SECONDS = 120,
	WATCH_MORE_MS = 30 * 1000,
	MAX_PAGES = 100000,
	MANY_BYTES = 64 * 1024, /* most per on_data, for watches in protobuf */
};

struct listing {
	const struct kube_ref *ref;
	const char *path, *accept; /* of a page, without its continue token */
	const struct kube_sink *sink;
	const char *without;
	struct split split;
};

static size_t drop_unread(char *text, size_t len, const char *without, int depth)
{
	len = strip_managed_fields(text, len, depth);
	return without ? strip_spec_list(text, len, without, depth) : len;
}

/* Report an unreadable object and continue, or without a callback end with the error. */
static int unreadable(void (*tell)(void *ctx, const struct error *err), void *ctx,
		      struct error *err)
{
	if (!tell)
		return -1;
	tell(ctx, err);
	*err = (struct error){ 0 };
	return 0;
}

static int on_item(void *ctx, char *text, size_t len, struct error *err)
{
	struct listing *l = ctx;
	cJSON *obj;

	len = drop_unread(text, len, l->without, 2);
	kube_clean(l->ref, text, len);
	if (json_parse(&obj, text, len, err)) {
		error_wrap(err, "an object of the list");
		return unreadable(l->sink->on_unreadable, l->sink->ctx, err);
	}
	json_put_str(obj, l->ref->api_version, "apiVersion");
	json_put_str(obj, l->ref->kind, "kind");
	return l->sink->on_item(l->sink->ctx, obj, err);
}

static int on_list_data(void *ctx, const void *data, size_t len, struct error *err)
{
	struct listing *l = ctx;

	return split_feed(&l->split, data, len, err);
}

void kube_add_query(struct buf *out, const char *name, const char *value)
{
	bool first = !strchr((char *)out->data, '?');

	if (!value || !*value)
		return;
	buf_printf(out, "%s%s=", first ? "?" : "&", name);
	http_escape(out, value);
}

/* Decode ListMeta, from the text around the items. */
static int read_around(struct split *s, const char *what, char **ret_continue,
		       char **ret_version, struct error *err)
{
	cleanup_json cJSON *list = NULL;
	const char *next, *version;

	if (buf_check(&s->around, what, err))
		return -1;
	if (json_parse(&list, s->around.data ? (char *)s->around.data : "", s->around.len,
		       err))
		return error_wrap(err, "%s: the response is not a list", what);
	version = json_str(list, "metadata", "resourceVersion");
	next = json_str(list, "metadata", "continue");
	if (!version)
		return error_set(err, ERR_FORMAT, "%s: the response is not a list", what);
	free(*ret_version);
	*ret_version = xstrdup(version);
	*ret_continue = next && *next ? xstrdup(next) : NULL;
	return 0;
}

/* One page, from the continue token *token (NULL: the first), replaced by the next. */
static int list_page(struct kube *k, struct listing *l, char **token, char **version,
		     struct error *err)
{
	cleanup_http_response struct http_response resp = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf path = { .max = 64 * 1024 };
	struct kube_request req = {
		.what = kube_what(&arena, k, "list", l->ref),
		.method = "GET",
		.accept = l->accept,
		.retry = KUBE_RETRY_ALWAYS,
		.timeout_ms = PAGE_MS,
		.cancel = l->sink->cancel,
		.cancel_fd = l->sink->cancel_fd,
		.on_data = on_list_data,
		.ctx = l,
	};
	char *next = NULL;

	buf_adds(&path, l->path);
	kube_add_query(&path, "continue", *token);
	if (buf_check(&path, "path", err))
		return -1;
	req.path = (char *)path.data;
	split_reset(&l->split);
	if (kube_send(k, &req, &resp, err) ||
	    read_around(&l->split, req.what, &next, version, err))
		return -1;
	free(*token);
	*token = next;
	return 0;
}

/* The path of a list or watch, with its selectors. */
static int collection_path(struct buf *out, struct kube *k, const struct kube_ref *ref,
			   const struct kube_select *select, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct kube_ref at = *ref;
	const char *path;

	at.name = NULL;
	if (kube_path(&arena, k, &at, &path, err))
		return -1;
	buf_adds(out, path);
	kube_add_query(out, "labelSelector", select->label_selector);
	kube_add_query(out, "fieldSelector", select->field_selector);
	return 0;
}

/*
 * List all pages. If the continue token expires (410), list again from the start, in one
 * response: a list that slow would expire again.
 */
static int list_pages(struct kube *k, struct listing *l, int64_t page, char **version,
		      struct error *err)
{
	cleanup_buf struct buf path = { .max = 64 * 1024 };
	cleanup_free char *token = NULL;
	const char *whole = l->path;
	char limit[24];

	snprintf(limit, sizeof(limit), "%lld", (long long)(page > 0 ? page : PAGE));
	buf_adds(&path, whole);
	kube_add_query(&path, "limit", limit);
	l->path = (char *)path.data;
	for (int n = 0; n < MAX_PAGES; n++) {
		if (!list_page(k, l, &token, version, err)) {
			if (!token)
				return 0;
			continue;
		}
		if (err->kind != ERR_EXPIRED || !token)
			return -1;
		*err = (struct error){ 0 };
		free(STEAL(token));
		l->path = whole;
		if (l->sink->on_restart)
			l->sink->on_restart(l->sink->ctx);
	}
	return error_set(err, ERR_LIMIT, "the list has more than %d pages", MAX_PAGES);
}

int kube_list(struct kube *k, const struct kube_ref *ref,
	      const struct kube_select *select, const struct kube_sink *sink,
	      char **ret_version, struct error *err)
{
	static const struct kube_select all;
	cleanup_buf struct buf path = { .max = 64 * 1024 };
	cleanup_free char *version = NULL;
	struct listing l = {
		.ref = ref,
		.sink = sink,
		.split = { .item = { .max = MAX_OBJECT },
			   .around = { .max = MAX_AROUND },
			   .on_item = on_item,
			   .ctx = &l },
	};
	int rc;

	if (!select)
		select = &all;
	if (collection_path(&path, k, ref, select, err) || buf_check(&path, "path", err))
		return -1;
	l.path = (char *)path.data;
	l.accept = select->meta_only ? AS_LIST : NULL;
	l.without = select->without;
	rc = list_pages(k, &l, select->page, &version, err);
	buf_release(&l.split.item);
	buf_release(&l.split.around);
	if (!rc && ret_version)
		*ret_version = STEAL(version);
	return rc;
}

/* ---- watches ---- */

struct watching {
	const struct kube_watch_opts *opts;
	const struct kube_ref *ref;
	struct buf line; /* an incomplete event */
	bool began, framed;
};

/* Skip an event that does not parse. */
static int skip_event(const struct watching *w, struct error *err)
{
	error_wrap(err, "an event of the watch");
	return unreadable(w->opts->on_unreadable, w->opts->ctx, err);
}

/* Decode a WatchEvent and pass it to on_event; ERROR: ERR_EXPIRED. */
static int deliver(const struct watching *w, cJSON *take_event, struct error *err)
{
	cleanup_json cJSON *event = take_event;
	const char *type = json_str(event, "type");
	cJSON *obj = json_get(event, "object");

	if (!type || !cJSON_IsObject(obj))
		return error_set(err, ERR_FORMAT, "the response is not a watch");
	if (!strcmp(type, "ERROR")) {
		kube_status_error("the watch ended", (int)json_int(obj, 500, "code"), obj,
				  err);
		err->kind = ERR_EXPIRED;
		return -1;
	}
	cJSON_DetachItemViaPointer(event, obj);
	json_put_str(obj, w->ref->api_version, "apiVersion");
	json_put_str(obj, w->ref->kind, "kind");
	return w->opts->on_event(w->opts->ctx, type, obj, err);
}

static int on_line(struct watching *w, char *line, size_t len, struct error *err)
{
	cJSON *event;

	if (strspn(line, " \t\r\n") >= len)
		return 0;
	len = drop_unread(line, len, w->opts->select.without, 3);
	kube_clean(w->ref, line, len);
	if (json_parse(&event, line, len, err))
		return skip_event(w, err);
	return deliver(w, event, err);
}

static int on_frame(struct watching *w, const uint8_t *frame, size_t len,
		    struct error *err)
{
	cJSON *event;

	if (proto_event(&event, frame, len, w->opts->select.fields, err))
		return skip_event(w, err);
	return deliver(w, event, err);
}

static void clear_line(struct watching *w)
{
	if (w->line.cap > 64 * 1024)
		buf_release(&w->line);
	buf_clear(&w->line);
}

/* Bytes missing of the current frame, or of its head. */
static size_t frame_missing(const struct watching *w)
{
	size_t len = w->line.len;

	return PROTO_HEAD - len + (len < PROTO_HEAD ? 0 : proto_length(w->line.data));
}

static int on_frames(struct watching *w, const uint8_t *p, size_t len, struct error *err)
{
	while (len) {
		size_t want = frame_missing(w), n = want < len ? want : len;
		int rc = 0;

		buf_add(&w->line, p, n);
		if (buf_check(&w->line, "an event of the watch", err))
			return -1;
		p += n;
		len -= n;
		if (w->line.len < PROTO_HEAD || frame_missing(w))
			continue;
		rc = on_frame(w, w->line.data + PROTO_HEAD, w->line.len - PROTO_HEAD,
			      err);
		clear_line(w);
		if (rc)
			return -1;
	}
	return 0;
}

static int on_lines(struct watching *w, const char *p, size_t len, struct error *err)
{
	const char *end = p + len, *newline;

	for (; (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1) {
		int rc;

		buf_add(&w->line, p, (size_t)(newline - p));
		if (buf_check(&w->line, "an event of the watch", err))
			return -1;
		rc = on_line(w, (char *)w->line.data, w->line.len, err);
		clear_line(w);
		if (rc)
			return -1;
	}
	buf_add(&w->line, p, (size_t)(end - p));
	return buf_check(&w->line, "an event of the watch", err);
}

/* The first byte of a frame's length is one that no JSON begins with. */
static int on_watch_data(void *ctx, const void *data, size_t len, struct error *err)
{
	struct watching *w = ctx;

	if (!w->began && len)
		w->framed = w->opts->select.fields &&
			    *(const uint8_t *)data <= MAX_OBJECT >> 24;
	w->began |= len > 0;
	return w->framed ? on_frames(w, data, len, err) : on_lines(w, data, len, err);
}

static void on_watch_answer(void *ctx)
{
	const struct watching *w = ctx;

	if (w->opts->on_answer)
		w->opts->on_answer(w->opts->ctx);
}

/* timeoutSeconds with jitter, so that watches opened together end at different times. */
static int64_t watch_seconds(const void *salt)
{
	uint64_t x = ((uint64_t)clock_ms() ^ (uintptr_t)salt) * 0x9e3779b97f4a7c15U;

	return WATCH_SECONDS + (int64_t)(x >> 40) % WATCH_SECONDS;
}

int kube_watch(struct kube *k, const struct kube_ref *ref,
	       const struct kube_watch_opts *opts, struct error *err)
{
	cleanup_http_response struct http_response resp = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf path = { .max = 64 * 1024 };
	int64_t seconds = watch_seconds(&path);
	struct watching w = {
		.opts = opts,
		.ref = ref,
		.line = { .max = MAX_OBJECT },
	};
	struct kube_request req = {
		.what = kube_what(&arena, k, "watch", ref),
		.method = "GET",
		.accept = opts->select.meta_only ? AS_METADATA
			  : opts->select.fields  ? PROTO_TYPE ", application/json"
						 : NULL,
		.retry = KUBE_RETRY_ALWAYS,
		.open_ended = true,
		.timeout_ms = seconds * 1000 + WATCH_MORE_MS,
		.receive_bytes = opts->select.fields ? MANY_BYTES : 0,
		.cancel = opts->cancel,
		.cancel_fd = opts->cancel_fd,
		.on_data = on_watch_data,
		.on_answer = on_watch_answer,
		.ctx = &w,
	};
	int rc;

	if (collection_path(&path, k, ref, &opts->select, err))
		return -1;
	buf_printf(&path, "%swatch=true&allowWatchBookmarks=true&timeoutSeconds=%lld",
		   strchr((char *)path.data, '?') ? "&" : "?", (long long)seconds);
	kube_add_query(&path, "resourceVersion", opts->version);
	if (buf_check(&path, "path", err))
		return -1;
	req.path = (char *)path.data;
	rc = kube_send(k, &req, &resp, err);
	buf_release(&w.line);
	return rc;
}
