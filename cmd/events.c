/* events.c - show the events of a job and of its objects (client/events.h). */
#include <inttypes.h>
#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "client/changes.h"
#include "client/events.h"
#include "client/jobs.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "cmd/ui/from.h"
#include "cmd/ui/out.h"
#include "spec/refer.h"
#include "trainer/api.h"
#include "why/foreign.h"

enum { MAX_EARLY = 1000 };

struct events_opts {
	struct where_opts where;
	const char *from;
	bool all, watch;
	int output;
};

static const char *const formats[] = { "table", "yaml", "json", "name", NULL };

static const struct opt opts_table[] = {
	WHERE_OPTIONS(struct events_opts),
	FROM_OPTION(struct events_opts),
	OPT_BOOL('A', "all-namespaces", "events of jobs in all namespaces",
		 struct events_opts, all),
	OPT_BOOL('w', "watch", "keep printing new events", struct events_opts, watch),
	OPT_ENUM('o', "output", "FORMAT", "output format", struct events_opts, output,
		 formats),
	{ .type = OPT_END },
};

struct showing {
	struct kube *kube;
	const struct events_opts *opts;
	const char *ns, *name; /* NULL: all namespaces; all jobs */
	cJSON *jobs, *events;
	cJSON *early; /* events that arrived before their job */
	struct out_table table;
};

static bool is_wanted(const struct showing *s, const cJSON *event)
{
	return event_is_of(s->jobs, s->name, event);
}

/* ---- printing -------------------------------------------------------------------- */

static void add_row(struct showing *s, const cJSON *event)
{
	cleanup_arena struct arena arena = { 0 };
	int64_t last = event_last(event);
	char age[DURATION_TEXT_SIZE] = "";
	const char *cells[7];
	size_t n = 0;

	if (last >= 0)
		duration_age(clock_now() - last, age);
	if (s->opts->all)
		cells[n++] = meta_namespace(event);
	cells[n++] = age;
	cells[n++] = event_is_warning(event) ? "Warning" : "Normal";
	cells[n++] = event_reason(event);
	cells[n++] = event_object_text(&arena, event);
	cells[n++] = event_message_text(&arena, event);
	cells[n] = NULL;
	out_row(&s->table, cells);
}

static void add_head(struct showing *s)
{
	s->table.columns = s->opts->all ? 6 : 5;
	if (s->opts->all)
		OUT_ROW(&s->table, "NAMESPACE", "LAST SEEN", "TYPE", "REASON", "OBJECT",
			"MESSAGE");
	else
		OUT_ROW(&s->table, "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE");
}

static int print_all(struct showing *s, struct error *err)
{
	enum out_format format = out_format(formats[s->opts->output]);
	const cJSON *event;

	events_sort(s->events);
	if (format == OUT_NAME) {
		json_each(event, s->events)
			out_name("v1", "Event", meta_name(event));
		return 0;
	}
	if (format != OUT_TABLE) {
		s->events = out_list(s->events);
		return out_doc(format, s->events, err);
	}
	if (!s->events->child)
		fprintf(stderr, "No events of %s%s%s%s.\n",
			s->name ? "TrainJob " : "TrainJobs", s->name ? s->name : "",
			s->ns ? " in namespace " : "", s->ns ? s->ns : "");
	if (!s->events->child && !s->opts->watch)
		return 0;
	add_head(s);
	json_each(event, s->events)
		add_row(s, event);
	out_table(&s->table);
	return 0;
}

/* ---- the events ------------------------------------------------------------------- */

static int take_event(struct showing *s, cJSON *take_obj)
{
	event_slim(take_obj);
	if (is_wanted(s, take_obj))
		cJSON_AddItemToArray(s->events, take_obj);
	else
		cJSON_Delete(take_obj);
	return 0;
}

static int list(struct showing *s, struct error *err)
{
	cJSON *found;

	if (events_read(s->kube, s->ns, s->name, s->jobs, &found, err))
		return -1;
	cJSON_Delete(s->events);
	s->events = found;
	return print_all(s, err);
}

/* ---- watch ----------------------------------------------------------------------- */

static bool keep(cJSON *obj)
{
	if (str_eq(meta_kind(obj), TRAINJOB_KIND)) {
		json_del(obj, JSON_PATH("spec"));
		json_del(obj, JSON_PATH("status"));
		return true;
	}
	return event_slim(obj);
}

/* Jobs and events are watched separately: an event may arrive before its job. */
static void take_new(struct showing *s, cJSON *take_event)
{
	if (is_wanted(s, take_event)) {
		add_row(s, take_event);
		out_table(&s->table);
	} else if (!event_owner(s->jobs, take_event)) {
		cJSON_AddItemToArray(s->early, take_event);
		if (cJSON_GetArraySize(s->early) > MAX_EARLY)
			cJSON_DeleteItemFromArray(s->early, 0);
		return;
	}
	cJSON_Delete(take_event);
}

static void take_job(struct showing *s, const cJSON *job, bool synced)
{
	cJSON *early = s->early, *old;

	json_each(old, s->jobs)
		if (str_eq(meta_uid(old), meta_uid(job)))
			return;
	cJSON_AddItemToArray(s->jobs, json_dup(job));
	if (!synced)
		return;
	s->early = cJSON_CreateArray();
	while (early->child)
		take_new(s, cJSON_DetachItemViaPointer(early, early->child));
	cJSON_Delete(early);
}

/* Print earlier events together and sorted, later ones as they arrive. */
static int take_change(struct showing *s, struct change *change, bool *synced,
		       struct error *err)
{
	if (cluster_report_change("events", change))
		return 0;
	if (change->kind == CHANGE_DELETED) /* events expire; those of a job remain */
		return 0;
	if (change->kind == CHANGE_SYNCED) {
		*synced = true;
		return print_all(s, err);
	}
	if (str_eq(meta_kind(change->obj), TRAINJOB_KIND)) {
		take_job(s, change->obj, *synced);
	} else if (!*synced) {
		return take_event(s, STEAL(change->obj));
	} else {
		take_new(s, STEAL(change->obj));
	}
	return 0;
}

static int watch(struct showing *s, struct error *err)
{
	const struct kube_ref events = { "v1", "Event", s->ns, NULL };
	const struct kube_ref jobs = job_ref(s->ns, NULL);
	cleanup_changes struct changes *c = NULL;
	bool synced = false;

	if (changes_new(&c, s->kube, NULL, NULL, err) ||
	    changes_watch(c, &jobs, NULL, keep, err) ||
	    changes_watch(c, &events, NULL, keep, err))
		return -1;
	for (;;) {
		cleanup_change struct change change = { 0 };

		if (changes_next(c, -1, &change, err) < 0 ||
		    take_change(s, &change, &synced, err))
			return -1;
		if (fflush(stdout))
			return 0; /* main() reports errors of stdout */
	}
}

/* ---- select ---------------------------------------------------------------------- */

static int load_jobs(struct showing *s, struct error *err)
{
	cleanup_json cJSON *job = NULL;

	if (s->name && job_get(s->kube, s->ns, s->name, &job, err))
		return -1;
	if (!job_list(s->kube, s->ns, NULL, &s->jobs, err))
		return 0;
	if (!s->name || err->kind != ERR_DENIED)
		return -1;
	*err = (struct error){ 0 }; /* show only the named job */
	s->jobs = cJSON_CreateArray();
	cJSON_AddItemToArray(s->jobs, STEAL(job));
	return 0;
}

static int show(struct showing *s, struct error *err)
{
	if (s->opts->watch && s->opts->output)
		return error_set(err, ERR_USAGE, "--watch works only with table output");
	if (s->opts->all && s->name)
		return error_set(err, ERR_USAGE,
				 "--all-namespaces cannot be combined with a name");
	if (load_jobs(s, err))
		return -1;
	s->events = cJSON_CreateArray();
	s->early = cJSON_CreateArray();
	return s->opts->watch ? watch(s, err) : list(s, err);
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct events_opts *opts = values;
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *k = NULL;
	const struct from from = { .uri = opts->from,
				   .follow = opts->watch,
				   .pick = opts->all ? "--all-namespaces" : NULL };
	struct where_opts where = opts->where;
	cleanup_history struct history *history = NULL;
	struct showing s = { .opts = opts };
	int rc;

	if (argc > 1)
		return error_set(err, ERR_USAGE, "specify at most one job");
	if (from_open(&history, &from, &where, &argc, &argv, err) ||
	    refer_jobs(argv, err) || where_connect(&k, &s.ns, &arena, &where, err))
		return -1;
	s.name = argv[0];
	if (opts->all)
		s.ns = NULL;
	s.kube = k;
	rc = show(&s, err);
	cJSON_Delete(s.jobs);
	cJSON_Delete(s.events);
	cJSON_Delete(s.early);
	out_table_release(&s.table);
	return rc ? cmd_failed(err) : EXIT_OK;
}

const struct cmd cmd_events = {
	.name = "events",
	.args = "[JOB]",
	.summary = "show what happened to a TrainJob",
	.about =
		"Events of the TrainJob and of its JobSet, Jobs, pods, PodGroup and Workload,\n"
		"oldest first; without a name, of all jobs in the namespace. Clusters keep events\n"
		"for about an hour.",
	.example = "kftrainer events bert\n"
		   "kftrainer events -w",
	.opts = opts_table,
	.opts_size = sizeof(struct events_opts),
	.run = run,
};
