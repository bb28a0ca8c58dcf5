/* runs.c - runs: list run directories (docs/runs.md). */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/ui/env.h"
#include "cmd/ui/out.h"
#include "history/history.h"
#include "trainer/progress.h"
#include "trainer/progress_line.h"

struct runs_opts {
	int output;
};

static const char *const formats[] = { "table", "yaml", "json", NULL };
static const enum out_format shown_as[] = { OUT_TABLE, OUT_YAML, OUT_JSON };

static const struct opt opts_table[] = {
	OPT_ENUM('o', "output", "FORMAT", "output format", struct runs_opts, output,
		 formats),
	{ .type = OPT_END },
};

static const char *text_of(const char *text)
{
	return text ? text : "-";
}

static const char *age_of(struct arena *arena, const cJSON *run)
{
	const char *created = json_str(run, "created");
	char text[DURATION_TEXT_SIZE];
	int64_t at;

	if (!created || time_parse(&at, created, IGNORED))
		return "-";
	return arena_strdup(arena, duration_age(clock_now() - at, text));
}

static const char *number_of(struct arena *arena, const cJSON *run, const char *name,
			     const char *unit)
{
	int64_t n = json_int(run, -1, name);

	return n < 0 ? "-" : arena_printf(arena, "%lld%s", (long long)n, unit);
}

static const char *metrics_of(struct arena *arena, const cJSON *run)
{
	cleanup_json cJSON *tj = cJSON_CreateObject(), *progress = cJSON_CreateObject();

	json_put(progress, json_dup(json_get(run, "metrics")), "metrics");
	progress_put(tj, progress);
	return progress_metrics(arena, tj);
}

static void add_row(struct out_table *t, const cJSON *run)
{
	cleanup_arena struct arena a = { 0 };

	OUT_ROW(t, text_of(json_str(run, "uri")), text_of(json_str(run, "name")),
		text_of(json_str(run, "status")), age_of(&a, run),
		number_of(&a, run, "nodes", ""), number_of(&a, run, "attempt", ""),
		text_of(json_str(run, "checkpoint", "name")),
		number_of(&a, run, "progress", "%"), metrics_of(&a, run));
}

/* Runs that cannot be read are reported after the others. */
static int show(const cJSON *runs, const struct runs_opts *opts, struct error *err)
{
	struct out_table t = { .columns = 9 };
	int code = EXIT_OK;
	const cJSON *run;

	if (opts->output) {
		if (out_doc(shown_as[opts->output], runs, err))
			return -1;
	} else {
		OUT_ROW(&t, "RUN", "JOB", "STATE", "AGE", "NODES", "ATTEMPTS",
			"CHECKPOINT", "PROGRESS", "METRICS");
		json_each(run, runs)
			if (!json_get(run, "fault"))
				add_row(&t, run);
		if (t.n > t.columns)
			out_table(&t);
	}
	out_table_release(&t);
	fflush(stdout);
	json_each(run, runs) {
		if (!json_get(run, "fault"))
			continue;
		cmd_complain("runs", "%s: %s", json_str(run, "uri"),
			     json_str(run, "fault"));
		code = EXIT_FAILED;
	}
	return code;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	struct history_conf conf = { .env = env_variable };
	cleanup_json cJSON *runs = NULL;

	if (argc != 1)
		return error_set(err, ERR_USAGE, "specify the URI of run directories");
	conf.uri = argv[0];
	if (stop_setup(err) || history_list(&runs, &conf, err))
		return -1;
	if (!runs->child)
		cmd_complain("runs", "no runs in %s", argv[0]);
	return show(runs, values, err);
}

const struct cmd cmd_runs = {
	.name = "runs",
	.args = "URI",
	.summary = "list the runs below a URI (submit --run-dir)",
	.about =
		"Lists run directories, the newest first: their state, age, newest complete\n"
		"checkpoint, and what they reported last. A run is Lost if it is Running, but\n"
		"its report was not updated for five minutes. 'logs', 'why', 'get' and\n"
		"'events' with --from RUN read one.",
	.example = "kftrainer runs file://$PWD/runs\n"
		   "# of a bucket: s3://BUCKET/PREFIX\n"
		   "kftrainer runs file://$PWD/runs -o json",
	.opts = opts_table,
	.opts_size = sizeof(struct runs_opts),
	.run = run,
};
