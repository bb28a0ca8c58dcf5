/* list.c - the list of jobs. */
#include "ui/list.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "client/columns.h"
#include "client/jobs.h"
#include "ui/form.h"
#include "ui/html.h"
#include "ui/page.h"

/* The words of the column STATE (columns.c). */
static const char *const states[] = { "Created",  "Suspended", "Running",
				      "Complete", "Failed",    "Terminating" };

static const char *given(struct arena *arena, const char *query, const char *name)
{
	const char *value = form_value(arena, query, name);

	value = value ? str_trim(arena, value) : NULL;
	return value && *value ? value : NULL;
}

struct list_filter list_filter_read(struct arena *arena, const char *query)
{
	return (struct list_filter){ .state = given(arena, query, "state"),
				     .text = given(arena, query, "q"),
				     .label = given(arena, query, "label") };
}

static void add_input(struct buf *out, const char *label, const char *name,
		      const char *value, const char *hint)
{
	buf_printf(out,
		   "<label>%s <input name=\"%s\" size=\"14\" placeholder=\"%s\" "
		   "value=\"",
		   label, name, hint);
	html_str(out, value);
	buf_adds(out, "\"></label>\n");
}

static void add_form(struct buf *out, const struct list_filter *f)
{
	buf_adds(out,
		 "<form class=\"filter\" action=\"/\" role=\"search\">\n"
		 "<label>State <select name=\"state\"><option value=\"\">all</option>");
	for (size_t i = 0; i < N_ELEMENTS(states); i++)
		buf_printf(out, "<option%s>%s</option>",
			   str_eq(f->state, states[i]) ? " selected" : "", states[i]);
	buf_adds(out, "</select></label>\n");
	add_input(out, "Text", "q", f->text, "in any column");
	add_input(out, "Labels", "label", f->label, "team=a");
	buf_adds(out, "<button>Filter</button>");
	if (f->state || f->text || f->label)
		buf_adds(out, " <a href=\"/\">Show all</a>");
	buf_adds(out, "\n</form>\n");
}

static void add_cell(struct buf *out, size_t i, const char *text, const cJSON *job)
{
	if (str_eq(columns[i].head, "NAME")) {
		buf_adds(out, "<td><a href=\"/jobs/");
		html_str(out, meta_namespace(job));
		buf_adds(out, "/");
		html_str(out, text);
		buf_adds(out, "\"><bdi>");
		html_str(out, text);
		buf_adds(out, "</bdi></a></td>");
	} else if (str_eq(columns[i].head, "STATE") && str_eq(text, "Failed")) {
		buf_printf(out, "<td class=\"bad\">%s</td>", text);
	} else {
		page_cell(out, text);
	}
}

/* Append the job's row, unless the filter leaves it out. */
static bool add_row(struct buf *out, struct columns *c, const struct list_filter *f,
		    const cJSON *job)
{
	cleanup_arena struct arena arena = { 0 };
	const char *cells[N_COLUMNS];
	bool has_text = !f->text;

	for (size_t i = 0; i < N_COLUMNS; i++) {
		cells[i] = column_text(&arena, c, i, job);
		if (f->state && str_eq(columns[i].head, "STATE") &&
		    !str_eq(cells[i], f->state))
			return false;
		has_text = has_text || strcasestr(cells[i], f->text);
	}
	if (!has_text)
		return false;
	buf_adds(out, "<tr>");
	for (size_t i = 0; i < N_COLUMNS; i++)
		add_cell(out, i, cells[i], job);
	buf_adds(out, "</tr>\n");
	return true;
}

static void add_jobs(struct buf *out, struct kube *k, const struct list_filter *f,
		     const cJSON *jobs)
{
	cleanup_buf struct buf rows = { .max = out->max }, unseen = { .max = 65536 };
	struct columns c = { .kube = k };
	const char *heads[N_COLUMNS + 1] = { NULL };
	const cJSON *job;
	size_t n = 0;

	for (size_t i = 0; i < N_COLUMNS; i++)
		heads[i] = columns[i].head;
	json_each(job, jobs) {
		buf_clear(&unseen);
		n += add_row(n < LIST_ROWS ? &rows : &unseen, &c, f, job);
	}
	map_release(&c.runtimes, free);
	buf_printf(out, "<p>%zu job%s", n, n == 1 ? "" : "s");
	if (n > LIST_ROWS)
		buf_printf(out, "; the first %d are shown, filter them to see others",
			   LIST_ROWS);
	buf_adds(out, "</p>\n");
	page_begin_table(out, heads);
	buf_add(out, rows.data, rows.len);
	page_end_table(out);
}

int list_page(struct buf *out, struct kube *k, const char *ns,
	      const struct list_filter *filter, struct error *err)
{
	cleanup_json cJSON *jobs = NULL;
	int failed = job_list(k, ns, filter->label, &jobs, err);

	if (failed && !(err->kind == ERR_INVALID && filter->label))
		return -1;
	page_head(out, "Jobs");
	add_form(out, filter);
	if (failed) {
		page_message(out, err);
		*err = (struct error){ 0 };
	} else {
		add_jobs(out, k, filter, jobs);
	}
	page_foot(out);
	return buf_check(out, "the page", err);
}
