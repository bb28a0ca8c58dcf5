/* list.c - the list of jobs. */
#include "ui/list.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "client/columns.h"
#include "client/jobs.h"
#include "kube/informer.h"
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

static void add_cell(struct buf *out, size_t i, const char *text, const char *key)
{
	if (str_eq(columns[i].head, "NAME")) {
		buf_adds(out, "<td><a href=\"/jobs/");
		html_str(out, key);
		buf_adds(out, "\"><bdi>");
		html_str(out, text);
		buf_adds(out, "</bdi></a></td>");
	} else if (str_eq(columns[i].head, "STATE") && str_eq(text, "Failed")) {
		buf_printf(out, "<td class=\"bad\">%s</td>", text);
	} else {
		page_cell(out, text);
	}
}

/* The rows of a list: n pass the filter. */
struct rows {
	const struct list_filter *filter;
	struct buf html;
	size_t n;
};

static bool passes(const struct list_filter *f, const char *const cells[])
{
	bool has_text = !f->text;

	for (size_t i = 0; i < N_COLUMNS; i++) {
		if (f->state && str_eq(columns[i].head, "STATE") &&
		    !str_eq(cells[i], f->state))
			return false;
		has_text = has_text || strcasestr(cells[i], f->text);
	}
	return has_text;
}

static void add_row(struct rows *rows, const char *const cells[], const char *key)
{
	if (!passes(rows->filter, cells) || rows->n++ >= LIST_ROWS)
		return;
	buf_adds(&rows->html, "<tr>");
	for (size_t i = 0; i < N_COLUMNS; i++)
		add_cell(&rows->html, i, cells[i], key);
	buf_adds(&rows->html, "</tr>\n");
}

/* A row of the board: a number in it is a time, of which the age is shown. */
static void on_row(void *ctx, const char *key, const cJSON *row)
{
	char ages[N_COLUMNS][DURATION_TEXT_SIZE];
	const char *cells[N_COLUMNS] = { NULL };
	int64_t since, now = clock_now();
	const cJSON *cell;
	size_t i = 0;

	json_each(cell, row) {
		if (i == N_COLUMNS)
			break;
		cells[i] = json_int_of(cell, &since) ? duration_age(now - since, ages[i])
						     : cell->valuestring;
		i++;
	}
	if (i == N_COLUMNS)
		add_row(ctx, cells, key);
}

static void add_jobs(struct rows *rows, struct kube *k, const cJSON *jobs)
{
	struct columns c = { .kube = k };
	const cJSON *job;

	json_each(job, jobs) {
		cleanup_arena struct arena arena = { 0 };
		const char *cells[N_COLUMNS];

		for (size_t i = 0; i < N_COLUMNS; i++)
			cells[i] = column_text(&arena, &c, i, job);
		add_row(rows, cells,
			informer_key(&arena, meta_namespace(job), meta_name(job)));
	}
	map_release(&c.runtimes, free);
}

static void add_table(struct buf *out, const struct rows *rows)
{
	const char *heads[N_COLUMNS + 1] = { NULL };

	for (size_t i = 0; i < N_COLUMNS; i++)
		heads[i] = columns[i].head;
	buf_printf(out, "<p>%zu job%s", rows->n, rows->n == 1 ? "" : "s");
	if (rows->n > LIST_ROWS)
		buf_printf(out, "; the first %d are shown, filter them to see others",
			   LIST_ROWS);
	buf_adds(out, "</p>\n");
	page_begin_table(out, heads);
	buf_add(out, rows->html.data, rows->html.len);
	page_end_table(out);
}

int list_page(struct buf *out, struct kube *k, struct board *b, const char *ns,
	      const struct list_filter *filter, struct error *err)
{
	struct rows rows = { .filter = filter, .html.max = out->max };
	cleanup_json cJSON *jobs = NULL;
	bool known = !filter->label && board_each(b, on_row, &rows);
	int failed = known ? 0 : job_list(k, ns, filter->label, &jobs, err);

	if (failed && !(err->kind == ERR_INVALID && filter->label))
		return -1;
	page_head(out, "Jobs");
	add_form(out, filter);
	if (failed) {
		page_message(out, err);
		*err = (struct error){ 0 };
	} else {
		add_jobs(&rows, k, jobs);
		add_table(out, &rows);
	}
	buf_release(&rows.html);
	page_foot(out);
	return buf_check(out, "the page", err);
}
