/* get.c - list the jobs of a cluster or of this machine. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "client/changes.h"
#include "client/columns.h"
#include "client/jobs.h"
#include "client/queue.h"
#include "cmd/claims.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "cmd/ui/from.h"
#include "cmd/ui/out.h"
#include "cmd/ui/pick.h"
#include "spec/refer.h"
#include "trainer/api.h"
#include "trainer/progress.h"
#include "trainer/progress_line.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

struct get_opts {
	struct where_opts where;
	const char *from;
	const char *selector;
	bool all, watch;
	int output;
};

enum { WIDE = 1 };
static const char *const formats[] = { "table", "wide", "yaml", "json", "name", NULL };

static const struct opt opts_table[] = {
	WHERE_OPTIONS(struct get_opts),
	FROM_OPTION(struct get_opts),
	OPT_BOOL('A', "all-namespaces", "jobs in all namespaces", struct get_opts, all),
	OPT_STR('l', "selector", "SELECTOR",
		"only jobs with these labels: team=a,tier!=b", struct get_opts, selector),
	OPT_ENUM('o', "output", "FORMAT", "output format", struct get_opts, output,
		 formats),
	OPT_BOOL('w', "watch", "keep printing a line for each change", struct get_opts,
		 watch),
	{ .type = OPT_END },
};

struct getting {
	struct kube *kube;
	const struct get_opts *opts;
	const char *ns; /* NULL: all namespaces */
	struct columns columns;
	cJSON *failures; /* array of messages: named jobs that are not shown */
	struct out_table table;
};

static bool shown(const struct getting *g, size_t column)
{
	int now = COLUMN_ALWAYS | (g->ns ? 0 : COLUMN_OF_ALL) |
		  (g->opts->output == WIDE ? COLUMN_WIDE : 0);

	return columns[column].when & now;
}

static void add_head(struct getting *g)
{
	const char *cells[N_COLUMNS + 1];
	size_t n = 0;

	for (size_t i = 0; i < N_COLUMNS; i++)
		if (shown(g, i))
			cells[n++] = columns[i].head;
	cells[n] = NULL;
	g->table.columns = n;
	out_row(&g->table, cells);
}

static void add_row(struct getting *g, const cJSON *job)
{
	cleanup_arena struct arena arena = { 0 };
	const char *cells[N_COLUMNS + 1];
	size_t n = 0;

	for (size_t i = 0; i < N_COLUMNS; i++)
		if (shown(g, i))
			cells[n++] = column_text(&arena, &g->columns, i, job);
	cells[n] = NULL;
	out_row(&g->table, cells);
}

/* ---- printing ----------------------------------------------------------------------- */

/* Items of a list may lack their kind. */
static void print_name(const cJSON *job)
{
	out_name(TRAINER_API_VERSION, TRAINJOB_KIND, meta_name(job));
}

static void none(const struct getting *g)
{
	fprintf(stderr, "No TrainJobs%s%s%s.\n",
		g->opts->selector ? " with these labels" : "",
		g->ns ? " in namespace " : "", g->ns ? g->ns : "");
}

static int print_all(struct getting *g, cJSON *take_jobs, bool single, struct error *err)
{
	cleanup_json cJSON *jobs = take_jobs;
	enum out_format format = out_format(formats[g->opts->output]);
	const cJSON *job;

	if (format == OUT_NAME) {
		json_each(job, jobs)
			print_name(job);
		return 0;
	}
	if (format != OUT_TABLE)
		return out_doc(format, single ? jobs->child : (jobs = out_list(jobs)),
			       err);
	if (!jobs->child && !g->opts->watch) {
		if (!g->failures->child)
			none(g);
		return 0;
	}
	add_head(g);
	json_each(job, jobs)
		add_row(g, job);
	out_table(&g->table);
	return 0;
}

static int find(const struct getting *g, char **names, cJSON **ret, struct error *err)
{
	cleanup_json cJSON *jobs = NULL;

	if (!*names)
		return job_list(g->kube, g->ns, g->opts->selector, ret, err);
	jobs = cJSON_CreateArray();
	for (bool single = !names[1]; *names; names++) {
		cJSON *job = NULL;

		if (!job_get(g->kube, g->ns, *names, &job, err)) {
			cJSON_AddItemToArray(jobs, job);
			continue;
		}
		if (single || !pick_is_about_one(err))
			return -1;
		cJSON_AddItemToArray(g->failures, cJSON_CreateString(err->msg));
		*err = (struct error){ 0 };
	}
	*ret = STEAL(jobs);
	return 0;
}

/* ---- watching -------------------------------------------------------------------------- */

static int print_change(struct getting *g, const cJSON *job, struct error *err)
{
	enum out_format format = out_format(formats[g->opts->output]);

	if (format == OUT_NAME) {
		print_name(job);
	} else if (format == OUT_TABLE) {
		add_row(g, job);
		out_table(&g->table);
	} else {
		if (format == OUT_YAML)
			puts("---");
		return out_doc(format, job, err);
	}
	return 0;
}

/* Print the existing jobs together, so that columns are aligned, then each change. */
static int take_change(struct getting *g, struct change *change, cJSON *first,
		       bool *synced, struct error *err)
{
	if (cluster_report_change("get", change))
		return 0;
	if (change->kind == CHANGE_SYNCED) {
		*synced = true;
		return print_all(g, json_dup(first), false, err);
	}
	if (*synced)
		return print_change(g, change->obj, err);
	cJSON_AddItemToArray(first, STEAL(change->obj));
	return 0;
}

static int watch(struct getting *g, const char *only, struct error *err)
{
	const struct kube_ref ref = job_ref(g->ns, only);
	cleanup_json cJSON *first = cJSON_CreateArray(), *job = NULL;
	cleanup_changes struct changes *c = NULL;
	bool synced = false;

	if (only && job_get(g->kube, g->ns, only, &job, err))
		return -1;
	if (changes_new(&c, g->kube, NULL, NULL, err) ||
	    changes_watch(c, &ref, g->opts->selector, NULL, err))
		return -1;
	for (;;) {
		cleanup_change struct change change = { 0 };

		if (changes_next(c, -1, &change, err) < 0 ||
		    take_change(g, &change, first, &synced, err))
			return -1;
		if (fflush(stdout))
			return 0; /* main() reports errors of stdout */
	}
}

/* ---- select ---------------------------------------------------------------------- */

static int check(const struct get_opts *opts, int argc, struct error *err)
{
	if (opts->all && argc)
		return error_set(err, ERR_USAGE,
				 "--all-namespaces cannot be combined with a name");
	if (opts->selector && argc)
		return error_set(err, ERR_USAGE, "specify names or --selector, not both");
	if (opts->watch && argc > 1)
		return error_set(err, ERR_USAGE, "--watch takes at most one job");
	return 0;
}

/* Print the jobs that exist, then the failures, as kubectl does. */
static int show(struct getting *g, int argc, char **argv, struct error *err)
{
	const cJSON *failure;
	cJSON *jobs;

	if (g->opts->watch)
		return watch(g, argc ? argv[0] : NULL, err);
	if (find(g, argv, &jobs, err) || print_all(g, jobs, argc == 1, err))
		return -1;
	fflush(stdout);
	json_each(failure, g->failures)
		cmd_complain("get", "%s", failure->valuestring);
	return g->failures->child ? EXIT_FAILED : EXIT_OK;
}

static int show_claims(const struct get_opts *opts, char **names, struct error *err)
{
	if (opts->selector || opts->watch)
		return error_set(err, ERR_USAGE, "%s cannot be used with claims",
				 opts->watch ? "--watch" : "--selector");
	return claims_show(&opts->where, opts->all, out_format(formats[opts->output]),
			   names, err);
}

static void explain(const char *name, struct error *err)
{
	if (err->kind == ERR_NOT_FOUND && name && refer_is_runtimes(name))
		error_set(err, ERR_NOT_FOUND,
			  "no TrainJob %s; see 'kftrainer runtime list'", name);
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct get_opts *opts = values;
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *k = NULL;
	const struct from from = { .uri = opts->from,
				   .follow = opts->watch,
				   .pick = opts->all        ? "--all-namespaces"
					   : opts->selector ? "--selector"
							    : NULL };
	struct where_opts where = opts->where;
	cleanup_history struct history *history = NULL;
	struct getting g = { .opts = opts };
	int rc;

	if (claims_are_named(argv))
		return show_claims(opts, argv, err);
	if (opts->all || opts->selector)
		pick_drop_kind(&argc, &argv);
	if (from_open(&history, &from, &where, &argc, &argv, err) ||
	    check(opts, argc, err) || refer_jobs(argv, err) ||
	    where_connect(&k, &g.ns, &arena, &where, err))
		return -1;
	pick_skip_kind(k, g.ns, true, &argc, &argv);
	if (opts->all)
		g.ns = NULL;
	g.kube = g.columns.kube = k;
	g.failures = cJSON_CreateArray();
	rc = show(&g, argc, argv, err);
	cJSON_Delete(g.failures);
	map_release(&g.columns.runtimes, free);
	out_table_release(&g.table);
	if (rc < 0)
		explain(argv[0], err);
	return rc < 0 ? cmd_failed(err) : rc;
}

const struct cmd cmd_get = {
	.name = "get",
	.args = "[JOB... | claims]",
	.summary = "list jobs and their state",
	.about =
		"Lists TrainJobs in the cluster or, without one, local jobs (submit --local). -w\n"
		"prints a line for each change until Ctrl-C. 'get claims' lists the volume claims\n"
		"of local jobs, their sizes, the jobs that mount them, and their directories.",
	.example = "kftrainer get\n"
		   "kftrainer get -A -o wide\n"
		   "kftrainer get digits -o yaml",
	.opts = opts_table,
	.opts_size = sizeof(struct get_opts),
	.run = run,
};
