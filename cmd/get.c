/*
 * get.c - the jobs there are: so far those of this machine.
 */
#include <inttypes.h>
#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/out.h"
#include "local/state.h"
#include "trainer/api.h"
#include "trainer/status.h"
#include "trainer/trainjob.h"

struct get_opts {
	const char *ns;
	bool all;
	int output;
};

static const char *const formats[] = { "table", "yaml", "json", "name", NULL };

static const struct opt opts_table[] = {
	OPT_STR('n', "namespace", "NAMESPACE",
		"where the jobs are; \"default\" without it", struct get_opts, ns),
	OPT_BOOL('A', "all-namespaces", "jobs of every namespace", struct get_opts, all),
	OPT_ENUM('o', "output", "FORMAT", "how to print them", struct get_opts, output,
		 formats),
	{ .type = OPT_END },
};

/* A time of the document in seconds since 1970, or -1. */
static int64_t seconds(const char *text)
{
	struct error unused = { 0 };
	int64_t t;

	return text && !time_parse(&t, text, &unused) ? t : -1;
}

/* As the run has them: the job may leave the number to its runtime. NULL: unknown. */
static const char *nodes_of(struct arena *arena, const cJSON *job)
{
	cleanup_json cJSON *steps = NULL;
	struct error unreadable = { 0 };
	const cJSON *s;
	int64_t nodes = 0;

	if (state_steps(&steps, meta_namespace(job), meta_name(job), &unreadable))
		return NULL;
	json_each(s, steps)
		if (json_bool(s, false, "trains"))
			nodes += json_int(s, 0, "pods");
	return nodes ? arena_printf(arena, "%" PRId64, nodes) : NULL;
}

static void add_row(struct out_table *table, const cJSON *job, int64_t now)
{
	int64_t start = seconds(meta_created(job));
	int64_t end = seconds(status_end_time(tj_status(job)));
	const char *state = status_state(tj_status(job));
	const char *nodes = nodes_of(&table->arena, job);
	char age[DURATION_TEXT_SIZE] = "", took[DURATION_TEXT_SIZE] = "";

	if (start >= 0) {
		duration_age(now - start, age);
		duration_age((end >= 0 ? end : now) - start, took);
	}
	OUT_ROW(table, meta_namespace(job), meta_name(job), state, nodes ? nodes : "",
		age, took);
}

static void print_table(const cJSON *jobs)
{
	cleanup_out_table struct out_table table = { .columns = 6 };
	int64_t now = clock_now();
	const cJSON *job;

	OUT_ROW(&table, "NAMESPACE", "NAME", "STATE", "NODES", "AGE", "DURATION");
	json_each(job, jobs)
		add_row(&table, job, now);
	out_table(&table);
}

static int find(cJSON **ret, const struct get_opts *opts, int argc, char **argv,
		struct error *err)
{
	const char *ns = opts->ns ? opts->ns : "default";
	cleanup_json cJSON *jobs = NULL;

	if (!argc)
		return state_list(ret, opts->all ? NULL : ns, err);
	if (opts->all)
		return error_set(err, ERR_USAGE, "--all-namespaces goes without a name");
	jobs = cJSON_CreateArray();
	for (; *argv; argv++) {
		cJSON *job = NULL;

		if (state_get(&job, ns, *argv, err))
			return -1;
		cJSON_AddItemToArray(jobs, job);
	}
	*ret = STEAL(jobs);
	return 0;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct get_opts *opts = values;
	enum out_format format = out_format(formats[opts->output]);
	cleanup_json cJSON *jobs = NULL;
	const cJSON *job;

	if (find(&jobs, opts, argc, argv, err))
		return -1;
	if (format == OUT_NAME) {
		json_each(job, jobs)
			puts(meta_name(job));
		return EXIT_OK;
	}
	if (format != OUT_TABLE)
		return out_doc(format, argc == 1 ? jobs->child : (jobs = out_list(jobs)),
			       err);
	if (jobs->child)
		print_table(jobs);
	else
		fprintf(stderr, "No jobs%s%s on this machine.\n",
			opts->all ? "" : " in namespace ",
			opts->all  ? ""
			: opts->ns ? opts->ns
				   : "default");
	return EXIT_OK;
}

const struct cmd cmd_get = {
	.name = "get",
	.args = "[JOB...]",
	.summary = "show jobs and how they fare",
	.about = "So far the jobs of this machine (submit --local), running ones and "
		 "those that\n"
		 "have ended. Jobs of a cluster are not built yet.",
	.example = "kftrainer get\n"
		   "kftrainer get digits -o yaml",
	.opts = opts_table,
	.opts_size = sizeof(struct get_opts),
	.run = run,
};
