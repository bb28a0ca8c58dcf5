/* why.c - why a TrainJob waits, is slow or failed (why/why.h). */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/terminal.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "cmd/ui/from.h"
#include "cmd/ui/out.h"
#include "cmd/ui/pick.h"
#include "local/state.h"
#include "spec/refer.h"
#include "why/why.h"

enum { MIN_WIDTH = 40, MAX_TEXT = 256 * 1024 };

struct why_opts {
	struct where_opts where;
	const char *from;
	int output;
};

static const char *const formats[] = { "text", "yaml", "json", NULL };
static const char *const separators[] = { "\n", "---\n", "" }; /* between jobs */

static const struct opt opts_table[] = {
	WHERE_OPTIONS(struct why_opts),
	FROM_OPTION(struct why_opts),
	OPT_ENUM('o', "output", "FORMAT", "output format", struct why_opts, output,
		 formats),
	{ .type = OPT_END },
};

/* ---- printing ---- */

/* Print a line, broken between words at that width. */
static void put_wrapped(const char *line, size_t len, size_t width)
{
	while (len > width) {
		size_t at = width;

		while (at > 0 && line[at] != ' ')
			at--;
		if (!at)
			for (at = width; at < len && line[at] != ' ';)
				at++;
		printf("%.*s\n", (int)at, line);
		at += at < len;
		line += at;
		len -= at;
	}
	printf("%.*s\n", (int)len, line);
}

static size_t text_width(void)
{
	int columns = out_terminal(STDOUT_FILENO) ? terminal_columns(STDOUT_FILENO) : 0;

	return columns < MIN_WIDTH ? MAX_TEXT : (size_t)columns;
}

static int print(const struct why_opts *opts, const cJSON *why, struct error *err)
{
	cleanup_buf struct buf text = { .max = MAX_TEXT };
	const char *line, *end;
	bool first = true;
	size_t width;

	if (opts->output)
		return out_doc(out_format(formats[opts->output]), why, err);
	why_text(&text, why);
	if (buf_check(&text, "the answer", err))
		return -1;
	width = text_width();
	for (line = (char *)text.data; (end = strchr(line, '\n')); line = end + 1) {
		/* Commands follow the first line; unbroken, they can be copied. */
		put_wrapped(line, (size_t)(end - line), first ? width : MAX_TEXT);
		first = false;
	}
	return EXIT_OK;
}

/* Append a hint to ERR_NOT_FOUND if a local job has that name. Returns -1. */
static int hint_at_local(const char *ns, const char *name, struct error *err)
{
	cleanup_json cJSON *job = NULL;
	struct error none = { 0 }, was = *err;

	if (err->kind == ERR_NOT_FOUND && !state_get(&job, ns, name, &none))
		error_set(err, was.kind,
			  "%s; a local job with this name exists: use --local", was.msg);
	return -1;
}

static int explain(cJSON **ret, const struct where_opts *where, const char *name,
		   struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *kube = NULL;
	cleanup_view struct view view = { 0 };
	const char *ns;

	if (where_connect(&kube, &ns, &arena, where, err))
		return -1;
	if (view_load(&view, kube, ns, name, err))
		return hint_at_local(ns, name, err);
	*ret = why_explain(&view);
	return 0;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct why_opts *opts = values;
	const struct from from = { .uri = opts->from, .logs = true };
	struct where_opts where = opts->where;
	cleanup_history struct history *history = NULL;
	int damaged = from_open(&history, &from, &where, &argc, &argv, err);
	int code = damaged ? EXIT_FAILED : EXIT_OK;

	if (damaged < 0)
		return -1;
	if (damaged)
		cmd_complain("why", "%s", err->msg);
	*err = (struct error){ 0 };
	if (!argc)
		return error_set(err, ERR_USAGE, "specify at least one job");
	if (refer_jobs(argv, err))
		return -1;
	for (int i = 0, shown = 0; i < argc; i++) {
		cleanup_json cJSON *why = NULL;

		if (!explain(&why, &where, argv[i], err)) {
			if (shown++)
				fputs(separators[opts->output], stdout);
			if (print(opts, why, err))
				return -1;
			continue;
		}
		if (argc == 1 || !pick_is_about_one(err))
			return -1;
		if (!i && err->kind == ERR_NOT_FOUND && refer_is_jobs(argv[0])) {
			*err = (struct error){ 0 };
			continue;
		}
		fflush(stdout);
		cmd_complain("why", "%s", err->msg);
		*err = (struct error){ 0 };
		code = EXIT_FAILED;
	}
	return code;
}

const struct cmd cmd_why = {
	.name = "why",
	.args = "JOB...",
	.summary = "explain why a TrainJob waits, is slow or failed",
	.about =
		"Prints one paragraph, the most likely cause first, and commands that show more.\n"
		"Checks the TrainJob, its runtime, JobSet, PodGroup or Kueue Workload, Jobs,\n"
		"pods, events, how failed containers' logs end and those of nodes begin, and\n"
		"nodes, volume claims and the controller if they matter. Lists objects that you\n"
		"are not allowed to read.",
	.example = "kftrainer why bert\n"
		   "kftrainer why bert -n team-a -o json",
	.opts = opts_table,
	.opts_size = sizeof(struct why_opts),
	.run = run,
};
