#include "cmd/local.h"

#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cmd/cmd.h"
#include "cmd/out.h"
#include "cmd/prefix.h"
#include "gpu/gpu.h"
#include "local/run.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

/* What the user sees while the job runs. */
struct viewer {
	struct prefixes prefixes;
	bool quiet;
	bool live;        /* the last line of the terminal shows the phase */
	bool deaf;        /* stdout is gone: nobody reads the lines */
	char status[512]; /* that line; "" when there is none */
	const char *name;
};

static int terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return 80;
	return size.ws_col;
}

static void erase_status(const struct viewer *v)
{
	if (v->live && v->status[0])
		fputs("\r\033[K", stdout);
}

/* Cut, so that it stays one line and can be erased. */
static void draw_status(const struct viewer *v)
{
	if (v->live && v->status[0])
		printf("%.*s", terminal_width() - 1, v->status);
}

/* A reader that went away does not end the job: its logs are on disk. */
static void flush_lines(struct viewer *v)
{
	if (!fflush(stdout))
		return;
	v->deaf = true;
	fprintf(stderr,
		"kftrainer submit: writing the output failed: %s; the job goes on, see "
		"'kftrainer logs %s'\n",
		strerror(errno), v->name);
	__fpurge(stdout);
	clearerr(stdout);
}

static void tell(const char *line)
{
	cleanup_arena struct arena arena = { 0 };

	fprintf(stderr, "%s\n", str_visible(&arena, line, false));
}

static void on_progress(void *ctx, const char *line)
{
	struct viewer *v = ctx;

	if (v->quiet)
		return;
	if (!v->live) {
		tell(line);
		return;
	}
	erase_status(v);
	snprintf(v->status, sizeof(v->status), "%s", line);
	draw_status(v);
	flush_lines(v);
}

static void on_note(void *ctx, const char *line)
{
	struct viewer *v = ctx;

	if (v->quiet)
		return;
	erase_status(v);
	flush_lines(v);
	tell(line);
	draw_status(v);
	flush_lines(v);
}

static void on_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct viewer *v = ctx;

	if (v->deaf)
		return;
	erase_status(v);
	prefix_line(&v->prefixes, prefix, line, len);
	draw_status(v);
	flush_lines(v);
}

static void tell_end(struct viewer *v, const struct local_result *result, int64_t ms)
{
	cleanup_arena struct arena arena = { 0 };
	bool colour = out_colour(STDERR_FILENO);
	const char *word = result->interrupted ? "interrupted"
			   : result->exit_code ? "failed"
					       : "complete";
	char why[50] = "";

	erase_status(v);
	flush_lines(v);
	if (result->report[0])
		fprintf(stderr, "%s%s", str_visible(&arena, result->report, true),
			str_ends(result->report, "\n") ? "" : "\n");
	if (v->quiet && !result->exit_code)
		return;
	if (result->exit_code)
		snprintf(why, sizeof(why), ", exit code %d", result->exit_code);
	fprintf(stderr, "%s: %s%s%s in %s%s\n", v->name,
		!colour             ? ""
		: result->exit_code ? "\033[31m"
				    : "\033[32m",
		word, colour ? "\033[0m" : "", out_duration(&arena, ms), why);
}

/* What cannot run here, whatever the machine: one clear line each. */
static int refuse(const struct job *job, struct error *err)
{
	const cJSON *policy = runtime_ml_policy(job->runtime);
	const char *kind = policy_mpi(policy)    ? "MPI"
			   : policy_flux(policy) ? "flux"
						 : NULL;

	if (kind)
		return error_set(
			err, ERR_UNSUPPORTED,
			"TrainJob %s: runtime %s: --local has no launcher for %s "
			"yet; --dry-run=client shows what a cluster would get",
			job->name, meta_name(job->runtime), kind);
	for (int i = 0; i < N_INITIALIZERS; i++)
		if (tj_initializer(job->trainjob, (enum initializer)i))
			return error_set(err, ERR_UNSUPPORTED,
					 "TrainJob %s: spec.initializer: --local cannot "
					 "download yet; take it out and read the files "
					 "from a folder of this machine",
					 job->name);
	return 0;
}

/* A job of that name runs already: what now? */
static void add_hint(struct error *err, const struct job *job)
{
	bool elsewhere = !str_eq(job->ns, "default");
	size_t len = strlen(err->msg);

	snprintf(err->msg + len, sizeof(err->msg) - len,
		 ": 'kftrainer logs -f %s%s%s' shows it, --name gives this one another "
		 "name",
		 job->name, elsewhere ? " -n " : "", elsewhere ? job->ns : "");
}

int local_submit(const struct job *job, bool quiet, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct viewer v = { .quiet = quiet, .name = job->name };
	cleanup_free char *workdir = getcwd(NULL, 0);
	cleanup_free struct local_result *result = xcalloc(1, sizeof(*result));
	const char *isolation = getenv("KFTRAINER_ISOLATION");
	int64_t start = clock_ms();
	const struct local_run_opts opts = {
		.ns = job->ns,
		.name = job->name,
		.trainjob = job->trainjob,
		.objects = job->objects,
		.gpus = gpu_visible(&arena),
		.workdir = workdir ? workdir : "/",
		.no_namespaces = str_eq(isolation, "none"),
		.observer = { .on_progress = on_progress,
			      .on_note = on_note,
			      .on_line = on_line,
			      .ctx = &v },
	};

	if (refuse(job, err) || stop_setup(err))
		return -1;
	v.live = !quiet && out_terminal(STDOUT_FILENO) && out_terminal(STDERR_FILENO);
	v.prefixes.colour = out_colour(STDOUT_FILENO);
	if (local_run(&opts, result, err)) {
		erase_status(&v);
		if (err->kind == ERR_EXISTS)
			add_hint(err, job);
		return -1;
	}
	tell_end(&v, result, clock_ms() - start);
	return result->exit_code;
}
