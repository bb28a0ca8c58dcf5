/* watch.c - streams changes, one JSON document per change (apiserver/exchange.h). */
#include <string.h>

#include "api/meta.h"
#include "apiserver/exchange.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum {
	LOOK_MS = 500,            /* between checks that the client is connected */
	REFRESH_MS = 100,         /* the same, with apiserver_conf.refresh */
	BOOKMARK_MS = 60 * 1000,  /* between bookmarks */
	TIMEOUT_MS = 1800 * 1000, /* timeout of a watch that sets none */
	SEND_BYTES = 64 * 1024    /* send when this many bytes of events are pending */
};

struct watch {
	struct exchange x; /* its strings are in the request's arena */
	struct httpd_request http;
	struct selection selection;
	enum form form;
	const char *prefix;
	int64_t version; /* version of the last event sent or skipped */
	int64_t until;
	int64_t bookmark_at;
	bool bookmarks, initial, first;
	struct httpd_stream *out;
	struct buf pending; /* events to send */
};

static int flush(struct watch *w)
{
	int rc = 0;

	if (w->pending.len)
		rc = httpd_send(w->out, w->pending.data, w->pending.len);
	buf_release(&w->pending);
	return rc;
}

static int end_event(struct watch *w)
{
	buf_adds(&w->pending, "}\n");
	return w->pending.len < SEND_BYTES ? 0 : flush(w);
}

/* Send the stored text without parsing it. */
static int send_stored(struct watch *w, const char *type, const struct stored *s)
{
	buf_printf(&w->pending, "{\"type\":\"%s\",\"object\":", type);
	buf_add(&w->pending, s->text, s->len);
	return end_event(w);
}

static int send_event(struct watch *w, const char *type, cJSON *take_object)
{
	cleanup_json cJSON *object = take_object;

	buf_printf(&w->pending, "{\"type\":\"%s\",\"object\":", type);
	json_print(&w->pending, object);
	return end_event(w);
}

static int send_object(struct watch *w, const char *type, cJSON *take_obj)
{
	cJSON *obj = form_object(&w->x, w->form, take_obj, w->first);

	w->first = false;
	return send_event(w, type, obj);
}

static int send_bookmark(struct watch *w, bool after_initial)
{
	cJSON *obj = cJSON_CreateObject();
	char version[24];

	w->bookmark_at = clock_ms() + BOOKMARK_MS;
	snprintf(version, sizeof(version), "%lld", (long long)w->version);
	json_put_str(obj, w->x.resource->kind, "kind");
	json_put_str(obj, w->x.resource->api_version, "apiVersion");
	json_put_str(obj, version, "metadata", "resourceVersion");
	if (after_initial)
		json_put_str(obj, "true", "metadata", "annotations",
			     "k8s.io/initial-events-end");
	return send_object(w, "BOOKMARK", obj);
}

static int send_error(struct watch *w, const struct error *err)
{
	return send_event(w, "ERROR", exchange_status(410, "Expired", err->msg));
}

static int send_one(struct watch *w, const char *type, const struct stored *s)
{
	if (w->form == FORM_WHOLE)
		return send_stored(w, type, s);
	return send_object(w, type, stored_read(s));
}

static bool selects(const struct watch *w, const struct stored *s)
{
	return s && selection_has(&w->selection, s);
}

static int send_change(struct watch *w, const struct storage_change *c)
{
	const struct stored *some = c->now ? c->now : c->before;
	bool before, now;
	char version[24];
	cJSON *gone;

	if (!str_starts(some->key, w->prefix))
		return 0;
	before = selects(w, c->before);
	now = selects(w, c->now);
	if (now)
		return send_one(w, before ? "MODIFIED" : "ADDED", c->now);
	if (!before)
		return 0;
	snprintf(version, sizeof(version), "%lld", (long long)c->version);
	gone = stored_read(c->before);
	meta_set_version(gone, version);
	return send_object(w, "DELETED", gone);
}

/* Send all current objects as ADDED events. */
static int send_initial(struct watch *w)
{
	cleanup_stored_list struct stored_list found = { 0 };

	storage_list(w->x.server->storage, w->prefix, &found);
	w->version = found.version;
	for (size_t i = 0; i < found.n; i++) {
		const struct stored *one = found.list[i];

		if (selects(w, one) && send_one(w, "ADDED", one))
			return -1;
	}
	if (w->initial && w->bookmarks)
		return send_bookmark(w, true);
	return 0;
}

/* Refresh; returns the ms until the next refresh. Failures are retried then. */
static int64_t refresh(const struct watch *w)
{
	const struct apiserver_conf *conf = &w->x.server->conf;
	const struct object_scope which = { w->x.resource->kind, w->x.ns, w->x.name };

	if (!conf->refresh)
		return LOOK_MS;
	(void)!conf->refresh(conf->ctx, &which, IGNORED);
	return REFRESH_MS;
}

static int end(struct watch *w, const struct error *why)
{
	if (why->kind != ERR_EXPIRED || !send_error(w, why))
		(void)flush(w);
	return -1;
}

/* Append one change to `pending`, or send `pending` and wait. -1: the watch ends. */
static int step(struct watch *w)
{
	bool idle = !w->pending.len;
	int64_t now = clock_ms(), look = idle ? now + refresh(w) : 0;
	struct storage_change c = { 0 };
	struct error err = { 0 };
	int rc;

	if (idle && (!httpd_listens(w->out) || now >= w->until))
		return -1;
	rc = storage_next(w->x.server->storage, w->version,
			  look < w->until ? look : w->until, &c, &err);
	if (rc < 0)
		return end(w, &err);
	if (rc) {
		w->version = c.version;
		rc = send_change(w, &c);
		storage_change_release(&c);
	} else if (!idle) {
		rc = flush(w);
	}
	/* The bookmark's version is that of the last change of any kind. */
	return !rc && w->bookmarks && now >= w->bookmark_at ? send_bookmark(w, false)
							    : rc;
}

static void stream_changes(void *ctx, struct httpd_stream *out)
{
	struct watch *w = ctx;

	w->out = out;
	w->pending.max = SEND_BYTES + 4 * OBJECT_MAX_BYTES;
	if (!w->version && send_initial(w))
		return;
	while (!step(w))
		continue;
}

static void release(void *ctx)
{
	struct watch *w = ctx;

	buf_release(&w->pending);
	arena_clear(&w->x.arena);
	map_release(&w->x.query, NULL);
	free(w);
}

static int read_times(struct exchange *x, struct watch *w)
{
	const char *version = exchange_query(x, "resourceVersion");
	const char *timeout = exchange_query(x, "timeoutSeconds");
	struct error err = { 0 };
	int64_t seconds = 0;

	if (*version && str_int(&w->version, version, 0, INT64_MAX, &err))
		return exchange_refuse(x, 400, "BadRequest",
				       "resourceVersion: Invalid value: \"%s\": %s",
				       version, err.msg);
	if (*timeout && str_int(&seconds, timeout, 0, INT32_MAX, &err))
		return exchange_refuse(x, 400, "BadRequest", "timeoutSeconds: %s",
				       err.msg);
	w->until = clock_ms() + (seconds ? clock_seconds_ms(seconds) : TIMEOUT_MS);
	w->bookmark_at = clock_ms() + BOOKMARK_MS;
	w->bookmarks = exchange_flag(x, "allowWatchBookmarks");
	w->initial = exchange_flag(x, "sendInitialEvents");
	return 0;
}

void watch_start(struct exchange *x)
{
	struct watch *w = xcalloc(1, sizeof(*w));

	if (form_read(x, &w->form) || selection_read(x, &w->selection) ||
	    read_times(x, w) || exchange_version_check(x, true)) {
		free(w);
		return;
	}
	if (w->initial)
		w->version = 0;
	w->prefix = exchange_prefix(x);
	w->first = true;
	w->http = *x->http;
	w->x = *x;
	w->x.http = &w->http;
	w->x.resp = NULL;
	/* The watch owns the request's strings from here on. */
	x->arena = (struct arena){ 0 };
	x->query = (struct map){ 0 };
	w->x.body = w->x.warnings = NULL;
	x->resp->status = 200;
	x->resp->content_type = "application/json";
	x->resp->stream = stream_changes;
	x->resp->release = release;
	x->resp->stream_ctx = w;
}
