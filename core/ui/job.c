/* job.c - the page of one job. */
#include "ui/job.h"

#include <inttypes.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "client/events.h"
#include "client/logs.h"
#include "trainer/podcause.h"
#include "trainer/supervision.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "ui/act.h"
#include "ui/html.h"
#include "ui/origin.h"
#include "ui/page.h"
#include "why/foreign.h"
#include "why/timeline.h"
#include "why/why.h"

enum { MAX_TEXT = 4 << 20, MAX_CELL = 4096, MAX_EVENTS = 500 };

/* The lines of all containers, one container after the other. */
struct log_text {
	struct buf html;
	bool full;
};

static void on_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct log_text *t = ctx;

	t->full = t->full || t->html.len > MAX_TEXT;
	if (t->full)
		return;
	if (prefix) {
		buf_adds(&t->html, "<b>");
		html_str(&t->html, prefix);
		buf_adds(&t->html, "</b> ");
	}
	html_line(&t->html, line, len < JOB_MAX_LINE ? len : JOB_MAX_LINE);
	if (len > JOB_MAX_LINE)
		buf_printf(&t->html, " ... (%zu bytes in all)", len);
	buf_adds(&t->html, "\n");
}

/* A reason why lines are missing is a line of its own. */
static void on_note(void *ctx, const char *text)
{
	on_line(ctx, NULL, text, strlen(text));
}

static int on_pause(void *ctx, struct error *err)
{
	return 0;
}

/* The containers that have written or may have, of all pods. */
static int64_t count_started(const struct view *v)
{
	const cJSON *pod, *c;
	int64_t n = 0;

	json_each(pod, v->pods)
		json_each(c, json_get(pod, "status", "containerStatuses"))
			n += json_get(c, "state", "running") ||
			     json_get(c, "state", "terminated");
	return n;
}

/* logs_run() of a job that has not ended would wait for the first container that starts. */
static int read_logs(struct kube *k, const struct view *v, int64_t tail,
		     const struct logs_out *to, struct error *err)
{
	const struct logs_want want = {
		.ns = v->ns, .job = v->name, .rank = -1, .tail = tail
	};

	if (count_started(v) || status_finished(json_get(v->trainjob, "status")))
		return logs_run(k, &want, to, err);
	to->on_note(to->ctx, "No container has started.");
	return 0;
}

int job_logs(struct kube *k, const char *ns, const char *name, const struct logs_out *to,
	     struct error *err)
{
	cleanup_view struct view view = { 0 };

	return view_load(&view, k, ns, name, err) || read_logs(k, &view, -1, to, err) ? -1
										      : 0;
}

static void add_logs(struct buf *out, struct kube *k, const struct view *v)
{
	struct log_text t = { .html = { .max = 2 * MAX_TEXT } };
	int64_t n = count_started(v);
	const struct logs_out to = {
		.on_line = on_line, .on_note = on_note, .on_pause = on_pause, .ctx = &t
	};
	struct error err = { 0 };

	buf_adds(out, "<pre id=\"log\">");
	if (read_logs(k, v,
		      n * JOB_LOG_LINES <= JOB_LOG_ALL ? JOB_LOG_LINES
						       : JOB_LOG_ALL / n + 1,
		      &to, &err))
		on_note(&t, err.msg);
	buf_add(out, t.html.data, t.html.len);
	if (t.full)
		buf_adds(out, "... more lines: kftrainer logs\n");
	buf_release(&t.html);
	buf_adds(out, "</pre>\n");
}

/* The page's contents; made by load(), ends with release(). */
struct shown {
	struct view view;
	cJSON *events;
	struct error no_events; /* kind 0: they can be read */
};

static void release(struct shown *s)
{
	cJSON_Delete(s->events);
	view_release(&s->view);
}
#define cleanup_shown __attribute__((cleanup(release)))

static int load(struct shown *s, struct kube *k, const char *ns, const char *name,
		struct error *err)
{
	if (view_load(&s->view, k, ns, name, err))
		return -1;
	(void)!events_of_job(k, s->view.trainjob, &s->events, &s->no_events);
	return 0;
}

/* How a row of a table is written: page_row() or json_row(). */
struct rows {
	struct buf *out;
	void (*add)(struct buf *out, const char *const cells[]);
};

static void json_row(struct buf *out, const char *const cells[])
{
	buf_adds(out, "[");
	for (size_t i = 0; cells[i]; i++) {
		buf_adds(out, i ? "," : "");
		html_json(out, cells[i]);
	}
	buf_adds(out, "],");
}

static void time_rows(const struct rows *rows, const struct shown *s)
{
	cleanup_json cJSON *timeline = timeline_of(&s->view);
	const cJSON *e;

	json_each(e, timeline) {
		char when[TIME_TEXT_SIZE], age[DURATION_TEXT_SIZE];
		int64_t at = json_int(e, 0, "at");

		time_text(at, when);
		duration_age(s->view.now - at, age);
		rows->add(rows->out, (const char *[]){ when, age, json_str(e, "what"),
						       json_str(e, "text"), NULL });
	}
}

/* Rows of supervisors' reports; a job without any has no row. */
static void supervised_rows(const struct rows *rows, const struct shown *shown)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf time = { .max = MAX_CELL };
	struct supervision s;
	int goodput;

	if (!supervision_of(&s, shown->view.trainjob))
		return;
	goodput = supervision_goodput(&s);
	for (int i = 0; i < SUPERVISION_SLICES; i++) {
		char text[DURATION_TEXT_SIZE];

		buf_printf(&time, "%s%s %s", i ? ", " : "", supervision_slices[i],
			   duration_age(s.seconds[i], text));
	}
	rows->add(rows->out,
		  (const char *[]){ arena_printf(&a, "%" PRId64, s.restarts),
				    arena_printf(&a, "%" PRId64, s.lost),
				    arena_printf(&a, "%" PRId64, s.stalls),
				    goodput < 0 ? "" : arena_printf(&a, "%d%%", goodput),
				    (const char *)time.data, NULL });
}

static void pod_rows(const struct rows *rows, const struct shown *s)
{
	const cJSON *pod, *c;

	json_each(pod, s->view.pods) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_buf struct buf codes = { .max = MAX_CELL };
		int64_t restarts = 0;

		json_each(c, json_get(pod, "status", "containerStatuses")) {
			restarts += json_int(c, 0, "restartCount");
			if (json_get(c, "state", "terminated"))
				buf_printf(&codes, "%s%" PRId64, codes.len ? ", " : "",
					   json_int(c, 0, "state", "terminated",
						    "exitCode"));
		}
		rows->add(rows->out,
			  (const char *[]){ meta_name(pod), pod_phase(pod),
					    pod_node(pod) ? pod_node(pod) : "",
					    arena_printf(&arena, "%" PRId64, restarts),
					    codes.len ? (char *)codes.data : "", NULL });
	}
}

/* The last MAX_EVENTS of them. */
static void event_rows(const struct rows *rows, const struct shown *s)
{
	static const char *const earlier[] = {
		"", "", "", "", "earlier ones: kftrainer events", NULL
	};
	int n = cJSON_GetArraySize(s->events);
	const cJSON *e;

	if (n > MAX_EVENTS)
		rows->add(rows->out, earlier);
	json_each(e, s->events) {
		if (n-- > MAX_EVENTS)
			continue;
		cleanup_arena struct arena arena = { 0 };
		char age[DURATION_TEXT_SIZE] = "";

		if (event_last(e) >= 0)
			duration_age(s->view.now - event_last(e), age);
		rows->add(rows->out,
			  (const char *[]){ age,
					    event_is_warning(e) ? "Warning" : "Normal",
					    event_reason(e), event_object_text(&arena, e),
					    event_message_text(&arena, e), NULL });
	}
}

static const struct {
	const char *id, *title, *heads[6]; /* heads end with NULL */
	void (*rows)(const struct rows *rows, const struct shown *s);
} tables[] = {
	{ "timeline", "Timeline", { "WHEN", "AGE", "STATE", "WHAT" }, time_rows },
	{ "supervised",
	  "Supervision",
	  { "RESTARTS", "LOST PODS", "STALLS", "GOODPUT", "TIME" },
	  supervised_rows },
	{ "pods", "Pods", { "POD", "PHASE", "NODE", "RESTARTS", "EXIT" }, pod_rows },
	{ "events",
	  "Events",
	  { "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE" },
	  event_rows },
};

static void add_tables(struct buf *out, const struct shown *s)
{
	const struct rows rows = { out, page_row };

	for (size_t i = 0; i < N_ELEMENTS(tables); i++) {
		buf_printf(out, "<h2 id=\"%s\">%s</h2>\n", tables[i].id, tables[i].title);
		if (tables[i].rows == event_rows && s->no_events.kind) {
			page_message(out, &s->no_events);
			continue;
		}
		page_begin_table(out, tables[i].heads);
		tables[i].rows(&rows, s);
		page_end_table(out);
	}
}

static void add_yaml(struct buf *out, const struct view *v)
{
	buf_adds(out, "<h2>YAML</h2>\n<pre>");
	origin_yaml(out, v->trainjob, v->runtime);
	buf_adds(out, "</pre>\n");
}

static void add_why(struct buf *text, const struct view *v)
{
	cleanup_json cJSON *why = why_explain(v);

	why_text(text, why);
}

int job_state(struct buf *out, struct kube *k, const char *ns, const char *name,
	      bool *ret_ended, struct error *err)
{
	cleanup_shown struct shown s = { 0 };
	cleanup_buf struct buf text = { .max = MAX_TEXT };
	const struct rows rows = { out, json_row };

	if (load(&s, k, ns, name, err))
		return -1;
	if (s.no_events.kind && s.no_events.kind != ERR_DENIED) { /* as the page says */
		*err = s.no_events;
		return -1;
	}
	*ret_ended = status_finished(tj_status(s.view.trainjob));
	add_why(&text, &s.view);
	buf_adds(out, "{\"why\":");
	html_json(out, (const char *)text.data);
	buf_adds(out, ",\"tables\":{");
	for (size_t i = 0; i < N_ELEMENTS(tables); i++) {
		buf_printf(out, "%s\"%s\":[", i ? "," : "", tables[i].id);
		tables[i].rows(&rows, &s);
		out->len -= out->data[out->len - 1] == ','; /* the last row's */
		buf_adds(out, "]");
	}
	buf_adds(out, "}}");
	return buf_check(out, "the state", err);
}

int job_page(struct buf *out, const struct job_page *page, struct error *err)
{
	cleanup_shown struct shown s = { 0 };
	cleanup_buf struct buf text = { .max = MAX_TEXT };
	struct kube *k = page->kube;

	if (load(&s, k, page->ns, page->name, err))
		return -1;
	add_why(&text, &s.view);
	page_head(out, page->name);
	buf_adds(out, "<pre class=\"why\">");
	html_text(out, (const char *)text.data, text.len);
	buf_adds(out, "</pre>\n");
	if (!page->read_only)
		act_links(out, k, s.view.trainjob);
	add_tables(out, &s);
	buf_adds(out, "<h2>Log</h2>\n");
	if (page->no_logs->kind)
		page_message(out, page->no_logs);
	add_logs(out, k, &s.view);
	add_yaml(out, &s.view);
	page_foot(out);
	return buf_check(out, "the page", err);
}
