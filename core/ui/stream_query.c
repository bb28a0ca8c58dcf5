/* stream_query.c - the query of a stream (ui/stream_query.h) */
#include "ui/stream_query.h"

#include "api/names.h"
#include "base/str.h"
#include "ui/form.h"

bool stream_event_id_read(struct stream_event_id *ret, struct arena *arena,
			  const char *text)
{
	size_t n;
	char **parts = str_split(arena, text ? text : "", '.', &n);
	int64_t v[3];

	*ret = (struct stream_event_id){ 0 };
	if (n != N_ELEMENTS(v))
		return false;
	for (size_t i = 0; i < n; i++)
		if (str_int(&v[i], parts[i], 0, INT64_MAX, IGNORED))
			return false;
	*ret = (struct stream_event_id){ (uint64_t)v[0], (uint64_t)v[1], (uint64_t)v[2] };
	return true;
}

/* "ns/name" of valid names; else NULL. */
static const char *valid_key(struct arena *arena, const char *text, const char **ret_ns)
{
	const char *slash = text ? strchr(text, '/') : NULL;

	if (!slash)
		return NULL;
	*ret_ns = str_slice(arena, text, (size_t)(slash - text));
	return name_label_invalid(*ret_ns) || name_subdomain_invalid(slash + 1)
		       ? NULL
		       : slash + 1;
}

static char **read_plots(struct arena *arena, const char *text)
{
	char **plots = text ? str_split(arena, text, ',', NULL) : NULL;
	const char *ns;
	size_t n = 0;

	for (size_t i = 0; plots && plots[i]; i++)
		if (n < STREAM_PLOTS && valid_key(arena, plots[i], &ns))
			plots[n++] = plots[i];
	if (plots)
		plots[n] = NULL;
	return plots;
}

struct stream_query stream_query_read(struct arena *arena,
				      const struct httpd_request *req)
{
	const char *id = httpd_header(req, "Last-Event-ID");
	const char *log = form_value(arena, req->query, "log");
	const char *lines = form_value(arena, req->query, "lines");
	struct stream_query w = { .rows = form_value(arena, req->query, "rows"),
				  .label = form_value(arena, req->query, "label"),
				  .key = form_value(arena, req->query, "job") };

	w.job = valid_key(arena, w.key, &w.ns);
	w.plots = read_plots(arena, form_value(arena, req->query, "plot"));
	(void)stream_event_id_read(&w.id, arena,
				   id ? id : form_value(arena, req->query, "after"));
	if (!log || !w.job)
		return w;
	w.only = str_eq(log, "*") ? NULL : log;
	if (str_int(&w.lines, lines ? lines : "1000", 1, STREAM_LINES, IGNORED))
		w.lines = STREAM_LINES;
	return w;
}
