/*
 * logs_source.c - read a container's log from its first line to its last, over several
 * requests (client/logs_impl.h).
 *
 * A request cannot name a run: the API server returns the current one or, with
 * previous=true, the one before, and the container may restart meanwhile. So lines are
 * matched by the order of their timestamps (logs_lines.h), not by run, and before a later
 * run is requested, the rest of the previous one is.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "client/logs_impl.h"
#include "kube/permission.h"
#include "net/http.h"
#include "trainer/podcause.h"

enum {
	AGAIN_MS = 250, /* doubles with each failure */
	AGAIN_MOST_MS = 5000,
	EOF_MS = 1000,  /* before the next try, if the log of a running container ended */
	POLL_MS = 5000, /* between reads of containers beyond LOGS_MAX_OPEN */
	GIVE_UP_MS = 15000, /* of failures only, once the job is over */
	TRIES = 5,          /* without --follow */
};

void log_source_note(const struct log_source *s, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	logs_note(s->logs, "%s: %s", s->origin.prefix, text);
}

void log_source_free(struct log_source *s)
{
	kube_stream_drop(s->stream);
	log_lines_release(&s->lines);
	arena_clear(&s->arena);
	free(s->pod);
	free(s->uid);
	free(s->container);
	free(s->waiting_reason);
	free(s);
}

void log_source_update_reason(struct log_source *s, const cJSON *pod)
{
	cleanup_arena struct arena arena = { 0 };
	struct pod_fact_list facts = { 0 };
	const char *text = s->run.waiting_reason;

	free(STEAL(s->waiting_reason));
	if (s->run.started)
		return;
	pod_facts_of(pod, &facts);
	if (facts.n)
		text = pod_fact_words(&arena, "", pod, &facts.list[0]);
	if (text)
		s->waiting_reason = xstrdup(text);
}

/* ---- one request --------------------------------------------------------------------- */

static const char *log_path(struct arena *arena, const struct log_source *s)
{
	const struct logs_want *want = s->logs->want;
	cleanup_buf struct buf path = { .max = 64 * 1024 };
	int64_t since = log_lines_since(&s->lines);
	char text[TIME_TEXT_SIZE];

	if (since < 0 && !s->from_start && want->since > 0)
		since = want->since;
	buf_adds(&path, "/api/v1/namespaces/");
	http_escape(&path, want->ns);
	buf_adds(&path, "/pods/");
	http_escape(&path, s->pod);
	buf_adds(&path, "/log?timestamps=true&container=");
	http_escape(&path, s->container);
	if (s->previous)
		buf_adds(&path, "&previous=true");
	if (s->followed)
		buf_adds(&path, "&follow=true");
	if (since >= 0) {
		buf_adds(&path, "&sinceTime=");
		http_escape(&path, time_text(since, text));
	}
	if (want->tail >= 0 && log_lines_since(&s->lines) < 0 && !s->from_start)
		buf_printf(&path, "&tailLines=%" PRId64, want->tail);
	return arena_strdup(arena, (char *)path.data);
}

/* The API server has answered: it is not refusing this log. */
static void set_answered(struct log_source *s)
{
	s->logs->answered = true;
	s->refused_ms = 0;
	s->failures = 0;
}

static int on_data(void *ctx, const void *data, size_t len, struct error *err)
{
	struct log_source *s = ctx;

	if (!s->has_data) {
		s->has_data = true;
		set_answered(s);
		s->failure_noted = false;
		if (s->logs->lost) {
			s->logs->lost = false;
			logs_note(s->logs, "connected again");
		}
	}
	log_lines_feed(&s->lines, data, len);
	return 0;
}

static void finish(struct log_source *s)
{
	s->done = true;
	log_lines_end(&s->lines);
}

/* The response is complete. */
static void ended(struct log_source *s)
{
	bool follow = s->logs->want->follow;

	set_answered(s);
	s->run_complete = s->previous || s->requested_ended;
	if (s->run_complete || !follow)
		log_lines_end(&s->lines);
	if (!follow) {
		finish(s);
		return;
	}
	if (s->run_complete || (s->run.ended && s->run.number == s->requested_run))
		return;
	/* The container has ended, or the API server is restarting: list the pods. */
	if (s->followed)
		s->logs->stale = true;
	s->due_ms = clock_ms() + (s->followed ? EOF_MS : POLL_MS);
}

/* Is the API server out of reach, rather than only this log? */
static bool is_lost(const struct error *err)
{
	return err->kind == ERR_IO || err->kind == ERR_TIMEOUT;
}

static void report_failure(struct log_source *s, const struct error *err)
{
	if (is_lost(err)) {
		if (!s->logs->lost && s->failures > 1)
			logs_note(s->logs, "%s; trying again", err->msg);
		s->logs->lost |= s->failures > 1;
	} else if (!s->failure_noted && s->failures > 1) {
		s->failure_noted = true;
		log_source_note(s, "%s; trying again", err->msg);
	}
}

static void try_again(struct log_source *s, const struct error *err)
{
	struct logs *l = s->logs;
	int64_t wait = (int64_t)AGAIN_MS << (s->failures < 8 ? s->failures : 8);
	int64_t now = clock_ms();
	bool over;

	if (!s->failures++)
		s->failed_ms = now;
	over = l->over_ms && now - l->over_ms > GIVE_UP_MS &&
	       now - s->failed_ms > GIVE_UP_MS;
	if (over || (!l->want->follow && s->failures >= TRIES)) {
		l->any_failed = true;
		log_source_note(s, "%s; giving up", err->msg);
		finish(s);
		return;
	}
	report_failure(s, err);
	l->stale = l->want->follow;
	s->due_ms = now + (wait < AGAIN_MOST_MS ? wait : AGAIN_MOST_MS);
}

/* Status 400: the run does not exist yet, or any more. */
static void no_such_run(struct log_source *s, const struct error *err)
{
	if (s->previous) {
		s->run_complete = true;
		if (!s->logs->want->follow) {
			s->logs->any_failed = true;
			log_source_note(s, "%s", err->msg);
			finish(s);
		}
	} else if (s->final || !s->logs->want->follow) {
		log_source_note(s, "%s", err->msg);
		finish(s);
	} else {
		s->due_ms = clock_ms() + EOF_MS;
		s->logs->stale = true;
	}
}

/* The log was removed. */
static void gone(struct log_source *s, const struct error *err)
{
	s->logs->any_failed = true;
	log_source_note(s, "%s", err->msg);
	finish(s);
}

/* Before the first log was read, a refusal is final. */
static bool is_denied(struct log_source *s, const struct error *err)
{
	bool denied = changes_refused(&s->refused_ms, err->kind == ERR_DENIED);

	if (s->logs->answered || err->kind != ERR_DENIED)
		return denied;
	return err->code != 401 || s->failures;
}

static void failed(struct log_source *s, const struct error *err)
{
	struct logs *l = s->logs;
	bool denied = is_denied(s, err);

	s->why = *err;
	if (err->kind == ERR_NOT_FOUND) {
		s->missing = true;
	} else if (err->code == 400) {
		no_such_run(s, err);
	} else if (err->kind == ERR_EXPIRED) {
		gone(s, err);
	} else if (denied) {
		l->fatal = *err;
		permission_explain(&l->fatal);
	} else if (err->kind != ERR_STOPPED) {
		try_again(s, err);
	}
}

/*
 * After a 404: the pod is gone, or its node does not know it, as after a restart of the kubelet
 * (kubernetes#38178).
 */
static void look_for_pod(struct log_source *s)
{
	const struct kube_ref ref = { "v1", "Pod", s->logs->want->ns, s->pod };
	cleanup_json cJSON *pod = NULL;
	bool known = !kube_find(s->logs->kube, &ref, &pod, IGNORED);

	s->missing = false;
	s->pod_gone |= known && !str_eq(meta_uid(pod), s->uid);
	if (s->pod_gone)
		finish(s);
	else
		try_again(s, &s->why);
}

static void on_end(void *ctx, const struct error *err)
{
	struct log_source *s = ctx;

	s->stream = NULL;
	s->logs->n_open--;
	s->logs->dirty = true;
	if (err)
		failed(s, err);
	else
		ended(s);
}

static void request_run(struct log_source *s, int64_t run, bool previous)
{
	cleanup_arena struct arena arena = { 0 };
	struct logs *l = s->logs;
	const struct kube_stream_sink sink = {
		.what = arena_printf(&arena, "get pods/log %s/%s", l->want->ns, s->pod),
		.on_data = on_data,
		.on_end = on_end,
		.ctx = s,
	};
	struct error err = { 0 };

	s->requested_run = run;
	s->any_request = true;
	s->previous = previous;
	s->requested_ended = !previous && s->run.ended && s->run.number == run;
	s->followed = l->want->follow && !previous && !s->requested_ended &&
		      l->n_open < LOGS_MAX_OPEN;
	s->run_complete = s->has_data = false;
	log_lines_begin(&s->lines);
	if (kube_stream_open(&s->stream, l->streams, log_path(&arena, s), &sink, &err)) {
		failed(s, &err);
		return;
	}
	l->n_open++;
}

/* ---- next request ------------------------------------------------------------------ */

/* --previous: read the run before the current one, if there is one. */
static void step_previous(struct log_source *s)
{
	if (s->any_request && !s->failures)
		return;
	if (s->run.number > 0)
		request_run(s, s->run.number - 1, true);
	else
		finish(s);
}

static void step_run(struct log_source *s)
{
	bool first = !s->any_request && !s->from_start;

	if (s->any_request && s->run_complete && s->run.number == s->requested_run) {
		if (s->final || s->pod_gone)
			finish(s);
		return;
	}
	/* Before the current run, read an earlier one that was not read to its end. */
	if (!first &&
	    s->run.number > (s->any_request ? s->requested_run + s->run_complete : 0))
		request_run(s, s->run.number - 1, true);
	else
		request_run(s, s->run.number, false);
}

void log_source_step(struct log_source *s, int64_t now)
{
	if (s->stream || s->done || s->replaced)
		return;
	if (s->missing) {
		look_for_pod(s);
		return;
	}
	if (!s->run.started) {
		if (s->final || s->pod_gone)
			finish(s);
		return;
	}
	if (s->due_ms > now)
		return;
	if (s->logs->want->previous)
		step_previous(s);
	else
		step_run(s);
}
