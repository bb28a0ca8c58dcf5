/* page.c - the list and the detail as HTML. */
#include "ui/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "client/columns.h"
#include "client/jobs.h"
#include "client/logs.h"
#include "ui/html.h"
#include "why/foreign.h"
#include "why/why.h"

static void head(struct buf *out, const char *title)
{
	buf_adds(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		      "<meta name=\"viewport\" content=\"width=device-width\">"
		      "<link rel=\"stylesheet\" href=\"/page.css\"><title>");
	html_str(out, title);
	buf_adds(out,
		 "</title></head>\n<body><header><a href=\"/\">kftrainer</a></header>"
		 "<main>\n<h1>");
	html_str(out, title);
	buf_adds(out, "</h1>\n");
}

static void foot(struct buf *out)
{
	buf_adds(out, "</main></body></html>\n");
}

void page_error(struct buf *out, const struct error *err)
{
	buf_clear(out);
	head(out, "Cannot be shown");
	buf_adds(out, "<p class=\"bad\">");
	html_str(out, err->msg);
	buf_adds(out, "</p>\n");
	foot(out);
}

static void add_cell(struct buf *out, const char *text)
{
	buf_adds(out, "<td><bdi>");
	html_str(out, text);
	buf_adds(out, "</bdi></td>");
}

/* Begin a table with these heads, which end with NULL; it ends with end_table(). */
static void begin_table(struct buf *out, const char *const heads[])
{
	buf_adds(out, "<table><thead><tr>");
	for (size_t i = 0; heads[i]; i++)
		buf_printf(out, "<th scope=\"col\">%s</th>", heads[i]);
	buf_adds(out, "</tr></thead><tbody>\n");
}

static void end_table(struct buf *out)
{
	buf_adds(out, "</tbody></table>\n");
}

static void add_row(struct buf *out, const char *const cells[])
{
	buf_adds(out, "<tr>");
	for (size_t i = 0; cells[i]; i++)
		add_cell(out, cells[i]);
	buf_adds(out, "</tr>\n");
}

static void cell(struct buf *out, struct columns *c, size_t i, const cJSON *job)
{
	cleanup_arena struct arena arena = { 0 };
	const char *text = column_text(&arena, c, i, job);

	if (str_eq(columns[i].head, "NAME")) {
		buf_adds(out, "<td><a href=\"/jobs/");
		html_str(out, meta_namespace(job));
		buf_adds(out, "/");
		html_str(out, text);
		buf_adds(out, "\"><bdi>");
		html_str(out, text);
		buf_adds(out, "</bdi></a></td>");
	} else {
		add_cell(out, text);
	}
}

int page_list(struct buf *out, struct kube *k, const char *ns, struct error *err)
{
	struct columns c = { .kube = k };
	const char *heads[N_COLUMNS + 1] = { NULL };
	cleanup_json cJSON *jobs = NULL;
	const cJSON *job;

	if (job_list(k, ns, NULL, &jobs, err))
		return -1;
	head(out, "Jobs");
	for (size_t i = 0; i < N_COLUMNS; i++)
		heads[i] = columns[i].head;
	if (!jobs->child)
		buf_adds(out, "<p>There are no TrainJobs.</p>\n");
	begin_table(out, heads);
	json_each(job, jobs) {
		buf_adds(out, "<tr>");
		for (size_t i = 0; i < N_COLUMNS; i++)
			cell(out, &c, i, job);
		buf_adds(out, "</tr>\n");
	}
	end_table(out);
	map_release(&c.runtimes, free);
	foot(out);
	return buf_check(out, "the page", err);
}

/* ---- detail ----------------------------------------------------------------------- */

enum { MAX_TEXT = 4 << 20 };

static const char *text_or_empty(const cJSON *obj, const char *key, const char *member)
{
	const char *text = json_str(obj, key, member);

	return text ? text : "";
}

/* The last PAGE_LOG_LINES lines of all processes, as rings of their HTML. */
struct tail {
	struct buf lines[PAGE_LOG_LINES];
	size_t n;
};

static void on_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct tail *t = ctx;
	struct buf *b = &t->lines[t->n++ % PAGE_LOG_LINES];

	b->max = 64 * 1024;
	buf_clear(b);
	if (prefix) {
		buf_adds(b, "<b>");
		html_str(b, prefix);
		buf_adds(b, "</b> ");
	}
	html_line(b, line, len < 8192 ? len : 8192);
	buf_adds(b, "\n");
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

static void add_logs(struct buf *out, struct kube *k, const char *ns, const char *name)
{
	struct tail *t = xcalloc(1, sizeof(*t));
	const struct logs_want want = {
		.ns = ns, .job = name, .rank = -1, .tail = PAGE_LOG_LINES
	};
	const struct logs_out to = {
		.on_line = on_line, .on_note = on_note, .on_pause = on_pause, .ctx = t
	};
	struct error err = { 0 };

	buf_adds(out, "<h2>Log</h2>\n<pre>");
	if (logs_run(k, &want, &to, &err))
		html_str(out, err.msg);
	for (size_t i = t->n < PAGE_LOG_LINES ? 0 : t->n - PAGE_LOG_LINES; i < t->n; i++)
		if (!t->lines[i % PAGE_LOG_LINES].overflowed)
			buf_add(out, t->lines[i % PAGE_LOG_LINES].data,
				t->lines[i % PAGE_LOG_LINES].len);
	for (size_t i = 0; i < PAGE_LOG_LINES; i++)
		buf_release(&t->lines[i]);
	free(t);
	buf_adds(out, "</pre>\n");
}

static void add_pods(struct buf *out, const struct view *v)
{
	static const char *const heads[] = { "POD",      "PHASE", "NODE",
					     "RESTARTS", "EXIT",  NULL };
	const cJSON *pod, *c;

	buf_adds(out, "<h2>Pods</h2>\n");
	begin_table(out, heads);
	json_each(pod, v->pods) {
		cleanup_arena struct arena arena = { 0 };
		const char *code = "";
		int64_t restarts = 0;

		json_each(c, json_get(pod, "status", "containerStatuses")) {
			restarts += json_int(c, 0, "restartCount");
			if (json_get(c, "state", "terminated"))
				code = arena_printf(&arena, "%s%s%" PRId64, code,
						    *code ? ", " : "",
						    json_int(c, 0, "state", "terminated",
							     "exitCode"));
		}
		add_row(out, (const char *[]){ meta_name(pod),
					       text_or_empty(pod, "status", "phase"),
					       text_or_empty(pod, "spec", "nodeName"),
					       arena_printf(&arena, "%" PRId64, restarts),
					       code, NULL });
	}
	end_table(out);
}

static void add_events(struct buf *out, const struct view *v)
{
	static const char *const heads[] = { "LAST SEEN", "TYPE",    "REASON",
					     "OBJECT",    "MESSAGE", NULL };
	const cJSON *e;

	buf_adds(out, "<h2>Events</h2>\n");
	begin_table(out, heads);
	json_each(e, v->events) {
		cleanup_arena struct arena arena = { 0 };
		char age[DURATION_TEXT_SIZE] = "";

		if (event_last(e) >= 0)
			duration_age(v->now - event_last(e), age);
		add_row(out,
			(const char *[]){ age, event_is_warning(e) ? "Warning" : "Normal",
					  event_reason(e),
					  arena_printf(&arena, "%s/%s", event_kind(e),
						       event_object(e)),
					  event_message(e), NULL });
	}
	end_table(out);
}

static void add_yaml(struct buf *out, const cJSON *job)
{
	cleanup_buf struct buf text = { .max = MAX_TEXT };

	yaml_print(&text, job);
	buf_adds(out, "<h2>YAML</h2>\n<pre>");
	html_text(out, (const char *)text.data, text.len);
	buf_adds(out, "</pre>\n");
}

int page_job(struct buf *out, struct kube *k, const char *ns, const char *name,
	     struct error *err)
{
	cleanup_view struct view view = { 0 };
	cleanup_buf struct buf text = { .max = MAX_TEXT };
	cleanup_json cJSON *why = NULL;

	if (view_load(&view, k, ns, name, err))
		return -1;
	why = why_explain(&view);
	why_text(&text, why);
	head(out, name);
	buf_adds(out, "<pre class=\"why\">");
	html_text(out, (const char *)text.data, text.len);
	buf_adds(out, "</pre>\n");
	add_pods(out, &view);
	add_events(out, &view);
	add_logs(out, k, ns, name);
	add_yaml(out, view.trainjob);
	foot(out);
	return buf_check(out, "the page", err);
}
