/* Sends what happens to objects, one JSON document a change: exchange.h. */
#include <string.h>

#include "api/meta.h"
#include "apiserver/exchange.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum {
	LOOK_MS = 500,    /* how often it looks whether the client is still there */
	REFRESH_MS = 100, /* likewise, and brings what is stored up to date */
	BOOKMARK_MS = 60 * 1000, /* between bookmarks */
	TIMEOUT_MS = 1800 * 1000 /* of a watch that names none */
};

struct watch {
	struct exchange x; /* with the request's strings, in its arena */
	struct httpd_request http;
	struct selection selection;
	enum form form;
	const char *prefix;
	int64_t version; /* the last one that was sent or skipped */
	int64_t until;
	int64_t bookmark_at;
	bool bookmarks, initial, first;
	struct httpd_stream *out;
};

static int send_event(struct watch *w, const char *type, cJSON *take_object)
{
	cleanup_json cJSON *event = cJSON_CreateObject();
	cleanup_buf struct buf text = { .max = 4 * OBJECT_MAX_BYTES };

	json_put_str(event, type, "type");
	json_put(event, take_object, "object");
	json_print(&text, event);
	buf_adds(&text, "\n");
	return httpd_send(w->out, text.data, text.len);
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
	return send_event(w, "ERROR", status_of(410, "Expired", err->msg));
}

static cJSON *matching(const struct watch *w, const struct stored *s)
{
	cleanup_json cJSON *obj = s ? stored_read(s) : NULL;

	return obj && selection_matches(&w->selection, obj) ? STEAL(obj) : NULL;
}

static int send_change(struct watch *w, const struct storage_change *c)
{
	const struct stored *some = c->now ? c->now : c->before;
	cleanup_json cJSON *before = NULL;
	cleanup_json cJSON *now = NULL;
	char version[24];

	if (!str_starts(some->key, w->prefix))
		return 0;
	before = matching(w, c->before);
	now = matching(w, c->now);
	if (now)
		return send_object(w, before ? "MODIFIED" : "ADDED", STEAL(now));
	if (!before)
		return 0;
	snprintf(version, sizeof(version), "%lld", (long long)c->version);
	meta_set_version(before, version);
	return send_object(w, "DELETED", STEAL(before));
}

/* All that is there now; the watch goes on from that. */
static int send_initial(struct watch *w)
{
	cleanup_stored_list struct stored_list found = { 0 };
	size_t remaining;

	storage_list(w->x.server->storage, w->prefix, NULL, 0, &found, &remaining);
	w->version = found.version;
	for (size_t i = 0; i < found.n; i++) {
		cJSON *obj = matching(w, &*found.list[i]);

		if (obj && send_object(w, "ADDED", obj))
			return -1;
	}
	if (w->initial && w->bookmarks)
		return send_bookmark(w, true);
	return 0;
}

/* How long until it is done again. What fails is tried again. */
static int64_t refresh(const struct watch *w)
{
	const struct apiserver_conf *conf = &w->x.server->conf;
	const struct wanted which = { w->x.resource->kind, w->x.ns, w->x.name };
	struct error ignored = { 0 };

	if (!conf->refresh)
		return LOOK_MS;
	if (conf->refresh(conf->ctx, &which, &ignored))
		error_clear_if(&ignored, ignored.kind);
	return REFRESH_MS;
}

static void run(void *ctx, struct httpd_stream *out)
{
	struct watch *w = ctx;
	struct error err = { 0 };

	w->out = out;
	if (!w->version && send_initial(w))
		return;
	while (httpd_listens(out) && clock_ms() < w->until) {
		int64_t now = clock_ms(), look = now + refresh(w);
		struct storage_change c = { 0 };
		int rc = storage_next(w->x.server->storage, w->version,
				      look < w->until ? look : w->until, &c, &err);

		if (rc < 0) {
			if (err.kind == ERR_EXPIRED && send_error(w, &err))
				return;
			return;
		}
		if (rc) {
			w->version = c.version;
			rc = send_change(w, &c);
			storage_change_release(&c);
		} else if (w->bookmarks && now >= w->bookmark_at) {
			w->version = storage_version(w->x.server->storage);
			rc = send_bookmark(w, false);
		}
		if (rc < 0)
			return;
	}
}

static void release(void *ctx)
{
	struct watch *w = ctx;

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
	w->until = clock_ms() + (seconds ? seconds_ms(seconds) : TIMEOUT_MS);
	w->bookmark_at = clock_ms() + BOOKMARK_MS;
	w->bookmarks = exchange_flag(x, "allowWatchBookmarks");
	w->initial = exchange_flag(x, "sendInitialEvents");
	return 0;
}

void watch_start(struct exchange *x)
{
	struct watch *w = xcalloc(1, sizeof(*w));

	if (form_read(x, &w->form) || selection_read(x, &w->selection) ||
	    read_times(x, w) || version_check(x, true)) {
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
	/* The watch has them from here on. */
	x->arena = (struct arena){ 0 };
	x->query = (struct map){ 0 };
	w->x.body = w->x.warnings = NULL;
	x->resp->status = 200;
	x->resp->content_type = "application/json";
	x->resp->stream = run;
	x->resp->release = release;
	x->resp->stream_ctx = w;
}
