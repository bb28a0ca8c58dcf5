/* live.c - streams of what changes. */
#include "ui/live.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "client/changes.h"
#include "client/jobs.h"
#include "client/logs_pod.h"
#include "trainer/podcause.h"
#include "ui/backfill.h"
#include "ui/board.h"
#include "ui/html.h"
#include "ui/job.h"
#include "ui/stream_query.h"
#include "ui/tail.h"
#include "ui/ui.h"

enum {
	LOOK_MS = 1000,  /* whether the viewer is still there */
	BEAT_MS = 15000, /* something is sent, so that both ends see a dead connection */
	JOB_MS = 500,    /* between two reads of a job that changes */
	EVENTS_MS = 15000, /* and of one that does not: new events */
	MAX_DATA = 8 << 20,
	LOG_BYTES = 32 << 10, /* of one event */
};

struct live {
	struct kube *kube;
	struct board *board;
	struct backfill *backfill;
	struct tails tails;     /* its lock guards the list of viewers, too */
	struct viewer *viewers; /* the newest first */
};

/* One stream, or one log. Strings are in the arena. */
struct viewer {
	struct live *live;
	struct viewer *next;
	bool cut; /* for a newer one; atomic */
	struct arena arena;
	struct httpd_stream *stream;
	struct stream_query query; /* its id: what was sent; lines 0: no log (any more) */
	struct tail *joined;
	unsigned turn;
	struct changes *pods;
	uint64_t seen_changes,
		changed; /* changed: the version of the job that was read */
	int64_t read_ms, sent_ms;
	bool dirty, ended, lost, failed;
	struct buf data;
};

/* ---- events ---------------------------------------------------------------------------- */

static void say(struct viewer *v, const char *event)
{
	cleanup_buf struct buf out = { .max = v->data.len + 256 };

	if (v->data.overflowed)
		buf_clear(&v->data);
	buf_printf(&out, "id: %" PRIu64 ".%" PRIu64 ".%" PRIu64 "\nevent: %s\ndata: ",
		   v->query.id.version, v->query.id.tail, v->query.id.line, event);
	buf_add(&out, v->data.data, v->data.len);
	buf_adds(&out, "\n\n");
	v->failed = v->failed || httpd_send(v->stream, out.data, out.len);
	v->sent_ms = clock_ms();
	if (v->data.cap > LOG_BYTES * 2)
		buf_release(&v->data);
	buf_clear(&v->data);
}

static void say_text(struct viewer *v, const char *event, const char *json)
{
	buf_adds(&v->data, json);
	say(v, event);
}

/* Each begins with the job; its name and namespace need no escapes. */
static void begin_of(struct viewer *v, const char *key)
{
	buf_clear(&v->data);
	buf_printf(&v->data, "[\"%s\",", key);
}

static void send_points(struct viewer *v, const char *key, const uint64_t span[2])
{
	begin_of(v, key);
	if (board_request_backfill(v->live->board, &v->data, key, span[0]))
		say_text(v, "past", "]");
	for (size_t i = 0;; i++) {
		size_t len;

		begin_of(v, key);
		len = v->data.len;
		if (!board_points(v->live->board, &v->data, key, i, span))
			break;
		if (v->data.len > len)
			say_text(v, "points", "]");
	}
	buf_clear(&v->data);
}

static void send_board(struct viewer *v)
{
	uint64_t span[2] = { v->query.id.version, board_version(v->live->board) };

	if (span[0] == span[1])
		return;
	for (size_t i = 0; v->query.plots && v->query.plots[i]; i++)
		send_points(v, v->query.plots[i], span);
	if (v->query.rows)
		board_rows(v->live->board, &v->data, v->query.id.version, v->query.label);
	if (v->data.len)
		say(v, "rows");
	v->query.id.version = span[1];
	say_text(v, "mark", "null");
}

static void send_lost(struct viewer *v)
{
	bool lost = board_lost(v->live->board, &v->data);

	if (lost)
		say(v, "lost");
	else if (v->lost)
		say_text(v, "lost", "null");
	buf_clear(&v->data);
	v->lost = lost;
}

/* ---- a job ----------------------------------------------------------------------------- */

static void wake(void *board)
{
	board_notify(board);
}

static int watch_pods(struct viewer *v)
{
	const struct kube_ref ref = { "v1", "Pod", v->query.ns, NULL };
	struct error err = { 0 };

	return changes_new(&v->pods, v->live->kube, wake, v->live->board, &err) ||
	       changes_watch(
		       v->pods, &ref,
		       arena_printf(&v->arena, POD_JOBSET_LABEL "=%s", v->query.job),
		       log_pod_slim, &err);
}

/* Has a pod changed? Who may not watch them sees changes of the job alone. */
static bool pods_changed(struct viewer *v)
{
	struct error err = { 0 };
	bool any = false;
	int rc = v->pods ? 1 : 0;

	while (rc > 0) {
		cleanup_change struct change change = { 0 };

		rc = changes_next(v->pods, 0, &change, &err);
		any = any || rc > 0;
	}
	if (rc < 0) {
		changes_free(v->pods);
		v->pods = NULL;
	}
	return any;
}

static void send_job(struct viewer *v)
{
	uint64_t changed = board_changed(v->live->board, v->query.key);
	int64_t now = clock_ms(), since = now - v->read_ms;
	struct error err = { 0 };

	v->dirty = pods_changed(v) || changed != v->changed || v->dirty ||
		   (since > EVENTS_MS && !v->ended);
	if (!v->dirty || v->lost || (v->read_ms && since < JOB_MS))
		return;
	v->dirty = false;
	v->changed = changed;
	if (job_state(&v->data, v->live->kube, v->query.ns, v->query.job, &v->ended,
		      &err)) {
		buf_clear(&v->data);
		buf_adds(&v->data, "{\"error\":");
		html_json(&v->data, err.msg);
		buf_adds(&v->data, "}");
	}
	v->read_ms = clock_ms();
	say(v, "job");
}

/* ---- its log --------------------------------------------------------------------------- */

static void join_log(struct viewer *v)
{
	struct error err = { 0 };

	if (tail_join(&v->live->tails, &v->query, &v->turn, &v->joined, &err)) {
		html_json(&v->data, err.msg);
		say(v, "end");
		v->query.lines = 0;
	} else if (!v->query.id.line) {
		say_text(v, "log", "{\"first\":true,\"lines\":[]}");
	}
}

static void leave_log(struct viewer *v)
{
	if (v->joined)
		tail_leave(&v->live->tails, STEAL(v->joined));
}

static void send_log(struct viewer *v)
{
	bool more = true, go_on = true;

	if (v->query.lines && !v->joined)
		join_log(v);
	while (v->joined && go_on && more && !v->failed) {
		buf_adds(&v->data, "{\"first\":false,\"lines\":[");
		go_on = tail_read(v->joined, v->turn, &v->data, &v->query.id.line,
				  LOG_BYTES);
		more = v->data.data[v->data.len - 1] == ',';
		if (!more) {
			buf_clear(&v->data);
			break;
		}
		v->data.len--; /* the last comma */
		say_text(v, "log", "]}");
	}
	if (!go_on) {
		say_text(v, "end", "null");
		leave_log(v);
		v->query.lines = 0;
	}
}

static bool is_cut(const struct viewer *v)
{
	return __atomic_load_n(&v->cut, __ATOMIC_ACQUIRE);
}

static void serve(void *ctx, struct httpd_stream *stream)
{
	struct viewer *v = ctx;

	v->stream = stream;
	v->sent_ms = clock_ms();
	v->failed = httpd_send(stream, "retry: 2000\n\n", 13);
	if (v->query.job && watch_pods(v)) {
		changes_free(v->pods);
		v->pods = NULL;
	}
	while (!v->failed && httpd_listens(stream) && !is_cut(v)) {
		send_lost(v);
		send_board(v);
		if (v->query.job)
			send_job(v);
		send_log(v);
		if (clock_ms() - v->sent_ms > BEAT_MS)
			say_text(v, "mark", "null");
		if (!board_wait(v->live->board, &v->seen_changes,
				v->dirty ? JOB_MS : LOOK_MS))
			break;
	}
}

/* ---- requests ---------------------------------------------------------------------------- */

static void viewer_free(void *ctx)
{
	struct viewer *v = ctx, **at = &v->live->viewers;

	leave_log(v);
	changes_free(v->pods);
	buf_release(&v->data);
	arena_clear(&v->arena);
	pthread_mutex_lock(&v->live->tails.lock);
	while (*at != v)
		at = &(*at)->next;
	*at = v->next;
	pthread_mutex_unlock(&v->live->tails.lock);
	free(v);
}

/*
 * Adds it, and cuts the oldest of those above LIVE_STREAMS: perhaps nobody reads it any
 * more, which cannot be known as long as the kernel has room for what is sent. False: too
 * many that are cut have not ended yet. The caller holds the lock.
 */
static bool add_viewer(struct live *l, struct viewer *v)
{
	struct viewer *oldest = NULL;
	int n = 0, cut = 0;

	for (struct viewer *other = l->viewers; other; other = other->next) {
		n++;
		cut += other->cut;
		oldest = other->cut ? oldest : other;
	}
	if (n >= 2 * LIVE_STREAMS)
		return false;
	if (n - cut >= LIVE_STREAMS)
		__atomic_store_n(&oldest->cut, true, __ATOMIC_RELEASE);
	v->next = l->viewers;
	l->viewers = v;
	return true;
}

/* NULL: there are as many as may be. */
static struct viewer *viewer_new(struct live *l, const struct httpd_request *req)
{
	struct viewer *v = xcalloc(1, sizeof(*v));
	bool room;

	v->live = l;
	v->dirty = true;
	v->data.max = MAX_DATA;
	pthread_mutex_lock(&l->tails.lock);
	room = add_viewer(l, v);
	pthread_mutex_unlock(&l->tails.lock);
	board_notify(l->board);
	if (!room) {
		free(v);
		return NULL;
	}
	v->query = stream_query_read(&v->arena, req);
	return v;
}

/* ---- a whole log ------------------------------------------------------------------------- */

static void on_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct viewer *v = ctx;

	if (prefix) {
		buf_adds(&v->data, prefix);
		buf_adds(&v->data, " ");
	}
	buf_add(&v->data, line, len);
	buf_adds(&v->data, "\n");
	if (v->data.len < LOG_BYTES)
		return;
	v->failed = v->failed || httpd_send(v->stream, v->data.data, v->data.len);
	buf_clear(&v->data);
}

static void on_note(void *ctx, const char *text)
{
	on_line(ctx, NULL, text, strlen(text));
}

static int on_pause(void *ctx, struct error *err)
{
	const struct viewer *v = ctx;

	return v->failed || !httpd_listens(v->stream) || is_cut(ctx)
		       ? error_set(err, ERR_STOPPED, "stopped")
		       : 0;
}

static void serve_log(void *ctx, struct httpd_stream *stream)
{
	struct viewer *v = ctx;
	const struct logs_out to = {
		.on_line = on_line, .on_note = on_note, .on_pause = on_pause, .ctx = v
	};
	struct error err = { 0 };

	v->stream = stream;
	if (job_logs(v->live->kube, v->query.ns, v->query.job, &to, &err) && !v->failed)
		on_note(v, err.msg);
	if (!v->failed && v->data.len)
		v->failed = httpd_send(stream, v->data.data, v->data.len);
}

static bool has_job(const struct viewer *v, struct error *err)
{
	const struct kube_ref ref = job_ref(v->query.ns, v->query.job);
	cleanup_json cJSON *job = NULL;

	if (!v->query.job)
		return !error_set(err, ERR_NOT_FOUND, "no such job");
	return !kube_get(v->live->kube, &ref, &job, err);
}

static bool take_arrival(struct live *l, const struct httpd_request *req,
			 struct httpd_response *resp)
{
	cleanup_arena struct arena arena = { 0 };
	const struct stream_query query = stream_query_read(&arena, req);

	tail_acknowledge(&l->tails, query.id.tail, query.id.line);
	resp->status = 204;
	return true;
}

bool live_handle(struct live *l, const struct httpd_request *req,
		 struct httpd_response *resp)
{
	bool log = str_eq(req->path, "/log");
	struct error err = { 0 };
	struct viewer *v;

	if (str_eq(req->path, "/arrived"))
		return take_arrival(l, req, resp);
	if (!log && !str_eq(req->path, "/stream"))
		return false;
	v = viewer_new(l, req);
	if (!v) {
		resp->status = 503;
		buf_printf(&resp->body, "%d pages are open\n", LIVE_STREAMS);
		return true;
	}
	if (log && !has_job(v, &err)) {
		resp->status = err.kind == ERR_NOT_FOUND ? 404 : 502;
		buf_printf(&resp->body, "%s\n", err.msg);
		viewer_free(v);
		return true;
	}
	if (log)
		buf_printf(&resp->headers,
			   "Content-Disposition: attachment; filename=\"%s.log\"\r\n",
			   v->query.job);
	else
		resp->content_type = "text/event-stream";
	resp->stream = log ? serve_log : serve;
	resp->release = viewer_free;
	resp->stream_ctx = v;
	return true;
}

/* ---- start and end ----------------------------------------------------------------------- */

int live_start(struct live **ret, const struct ui_conf *conf, struct error *err)
{
	struct live *l = xcalloc(1, sizeof(*l));

	l->kube = conf->kube;
	pthread_mutex_init(&l->tails.lock, NULL);
	if (board_start(&l->board, conf, err) ||
	    backfill_start(&l->backfill, conf, l->board, err)) {
		live_free(l);
		return -1;
	}
	l->tails.kube = conf->kube;
	l->tails.board = l->board;
	l->tails.last_id =
		board_epoch(); /* no tail of an earlier process is one of ours */
	*ret = l;
	return 0;
}

void live_stop(struct live *l)
{
	board_stop(l->board);
}

void live_free(struct live *l)
{
	live_stop(l);
	tails_sweep(&l->tails, true);
	backfill_free(l->backfill);
	board_free(l->board);
	pthread_mutex_destroy(&l->tails.lock);
	free(l);
}

void live_tick(struct live *l)
{
	tails_sweep(&l->tails, false);
}

bool live_busy(struct live *l)
{
	bool busy;

	pthread_mutex_lock(&l->tails.lock);
	busy = l->viewers;
	pthread_mutex_unlock(&l->tails.lock);
	return busy;
}

struct board *live_board(struct live *l)
{
	return l->board;
}
