/* submit_local.c - submit --local: run a job on this machine (cmd/submit_impl.h). */
#include "cmd/submit_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/meta.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/detach.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cmd/cmd.h"
#include "cmd/gpus.h"
#include "cmd/ui/interactive.h"
#include "cmd/ui/out.h"
#include "cmd/ui/render.h"
#include "cmd/ui/viewer.h"
#include "kubelet/shmdir.h"
#include "kubelet/workspace_mount.h"
#include "local/initializers.h"
#include "local/run.h"
#include "local/state.h"
#include "machine/local_job.h"
#include "plugins/plugins.h"
#include "trainer/framework.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

/* The context of the run's callbacks. viewer_*() need the viewer as the first member. */
struct watcher {
	struct viewer viewer;
	const struct job *job;
	const char *format;
	const char *outcome; /* reported when the run begins; NULL: none */
	bool quiet;
	int to; /* the context of detach_say() */
	struct created *created;
};

static void print_start(const struct watcher *w, const cJSON *trainjob)
{
	struct outcomes out = out_outcomes("submit");
	cleanup_json cJSON *items = NULL;
	struct error err = { 0 };

	if (!w->format && w->outcome && !w->quiet)
		outcome_report(&out, trainjob, w->outcome);
	if (!w->format)
		return;
	items = cJSON_CreateArray();
	cJSON_AddItemToArray(items, json_dup(trainjob));
	if (render_objects(items, trainjob, w->format, &err))
		cmd_complain("submit", "%s", err.msg);
}

static void on_begin(void *ctx, const cJSON *trainjob)
{
	struct watcher *w = ctx;

	viewer_erase(&w->viewer);
	print_start(w, trainjob);
	viewer_erase(&w->viewer); /* output is flushed before the job's lines */
	if (!w->created)
		return;
	snprintf(w->created->ns, sizeof(w->created->ns), "%s", w->job->ns);
	snprintf(w->created->name, sizeof(w->created->name), "%s", w->job->name);
	detach_say(&w->to, EXIT_OK);
}

static void on_running(void *ctx, bool late)
{
	struct watcher *w = ctx;
	struct outcomes out = out_outcomes("submit");

	viewer_erase(&w->viewer);
	if (late)
		cmd_complain(
			"submit",
			"timed out: the pods of TrainJob %s are not running yet; see "
			"'kftrainer why %s'",
			w->job->name, w->viewer.named);
	else if (!w->quiet && !w->format)
		outcome_report(&out, w->job->trainjob, "running");
	detach_say(&w->to, late ? EXIT_TIMED_OUT : EXIT_OK);
}

static void print_end(struct viewer *v, const struct local_result *result, int64_t ms)
{
	cleanup_arena struct arena arena = { 0 };

	viewer_erase(v);
	if (result->report[0])
		fprintf(stderr, "%s%s", str_visible(&arena, result->report, true),
			str_ends(result->report, "\n") ? "" : "\n");
	viewer_end(v,
		   result->interrupted ? "interrupted"
		   : result->timed_out ? "timed out"
		   : result->exit_code ? "failed"
				       : "complete",
		   result->exit_code, ms);
}

/* Refuse frameworks that run only in a cluster. */
static int refuse(const struct job *job, struct error *err)
{
	const char *kind =
		framework_cluster_only(plugins, runtime_ml_policy(job->runtime));

	if (kind)
		return error_set(err, ERR_UNSUPPORTED,
				 "TrainJob %s: runtime %s: --local does not support %s "
				 "yet; --dry-run=client shows the cluster's objects",
				 job->name, meta_name(job->runtime), kind);
	return 0;
}

/* Append a hint to the error that a job of that name already runs. */
static void add_hint(struct error *err, const struct job *job)
{
	cleanup_arena struct arena a = { 0 };
	size_t len = strlen(err->msg);

	snprintf(err->msg + len, sizeof(err->msg) - len,
		 ": see 'kftrainer logs -f %s', or choose another name with --name",
		 local_named(&a, job->ns, job->name));
}

/* In the background: report the start and not the job's output. */
static void plan_background(struct local_run_opts *run, struct watcher *w,
			    const struct submit_opts *opts)
{
	run->observer.on_line = NULL;
	run->observer.on_state = NULL;
	run->columns = 0;
	if (submit_creates_first(opts)) {
		w->outcome = "created";
		w->created = opts->created;
	} else {
		run->running_ms = run->timeout_ms;
		run->observer.on_running = on_running;
	}
	if (opts->detach || opts->follow || opts->wait)
		run->timeout_ms = 0; /* --timeout ends the command, not the job */
}

/* Where pods start. They never start elsewhere, such as in "/". */
static char *current_dir(struct error *err)
{
	char *ret = getcwd(NULL, 0);

	if (!ret && errno == ENOENT)
		error_set(err, ERR_INVALID,
			  "the current directory was removed or unmounted: "
			  "change to one that exists");
	else if (!ret)
		error_errno(err, errno, "the current directory");
	return ret;
}

static struct local_run_opts run_opts_of(const struct job_set *set,
					 const struct submit_opts *opts,
					 struct local_job *stored, struct watcher *w)
{
	const struct job *job = &set->list[0];

	return (struct local_run_opts){
		.ns = job->ns,
		.name = job->name,
		.trainjob = local_job_trainjob(stored),
		.objects = local_job_objects(stored),
		.controller = local_job_controller(stored),
		.pod_key = local_job_pod_key(stored),
		.runtime = runtime_in_files(&set->input, job->trainjob, job->ns)
				   ? job->runtime
				   : NULL,
		.torch_fix = (const char *)asset_find("torch/sitecustomize.py")->data,
		.no_namespaces = str_eq(getenv("KFTRAINER_ISOLATION"), "none"),
		.terminal = opts->interactive,
		.timeout_ms = opts->timeout_ms,
		.max_restarts = opts->max_restarts,
		.dry_run = opts->dry_run == DRY_RUN_SERVER,
		.observer = { .on_progress = viewer_progress,
			      .on_note = viewer_note,
			      .on_detail = opts->verbose ? viewer_note : NULL,
			      .on_line = viewer_line,
			      .on_state = viewer_state,
			      .on_pause = viewer_pause,
			      .on_begin = on_begin,
			      .ctx = w },
	};
}

static int run_local(const struct job_set *set, const struct submit_opts *opts,
		     struct local_job *stored, struct error *err)
{
	const struct job *job = &set->list[0];
	cleanup_arena struct arena arena = { 0 };
	struct watcher w = { .job = job,
			     .format = submit_format(opts),
			     .quiet = opts->quiet,
			     .to = opts->to };
	cleanup_free char *workdir = current_dir(err);
	cleanup_free struct local_result *result = xcalloc(1, sizeof(*result));
	int64_t start = clock_ms();
	struct local_run_opts run = run_opts_of(set, opts, stored, &w);

	run.workdir = workdir;
	if (!workdir || initializers_map(local_job_objects(stored), err) ||
	    stop_setup(err) || gpus_for(&arena, &run.gpus, run.objects, err) ||
	    interactive_plan(&run, local_job_objects(stored), err))
		return -1;
	if (run.dry_run)
		w.outcome = DRY_RUN_OUTCOME;
	out_terminal_size(&run.columns, &run.rows);
	if (opts->detach || submit_creates_first(opts))
		plan_background(&run, &w, opts);
	viewer_begin(&w.viewer, job->name, local_named(&arena, job->ns, job->name),
		     opts->quiet);
	if (!tj_is_ours(job->trainjob))
		viewer_note(&w, "spec.managedBy is not applied: no other controller runs "
				"on this machine");
	if (local_run(&run, result, err)) {
		viewer_erase(&w.viewer);
		if (err->kind == ERR_EXISTS)
			add_hint(err, job);
		return -1;
	}
	if (run.dry_run)
		return EXIT_OK;
	print_end(&w.viewer, result, clock_ms() - start);
	return result->exit_code;
}

/* The temporary directory for code, removed after the run. */
static int private_tmp(struct arena *arena, const char **ret, int *ret_lock,
		       struct error *err)
{
	const char *tmp = getenv("TMPDIR");

	tmp = tmp && *tmp ? tmp : "/tmp";
	*ret = tempdir_make(arena, tmp, ret_lock);
	if (!*ret)
		return error_errno(err, errno, "cannot create a directory in %s", tmp);
	setenv("TMPDIR", *ret, 1);
	return 0;
}

static int mount_workspace(const struct workspace_pack *s, cJSON *objects, bool dev,
			   struct error *err)
{
	bool shared = false;

	if (!s->annotations.digest)
		return 0;
	if (workspace_mount(objects, s->folder, s->annotations.digest, &shared, err))
		return -1;
	if (shared && dev)
		return error_set(err, ERR_UNSUPPORTED,
				 "--dev: mounts are not available here, and the pods "
				 "would share their files");
	if (shared)
		fprintf(stderr, "mounts are not available: all pods share one copy of "
				"the workspace, which is not at " WORKSPACE_PATH "\n");
	return 0;
}

static int run_with_code(const struct job_set *set, const struct submit_opts *opts,
			 const struct workspace_pack *pack, struct local_job *stored,
			 struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *folder;
	int code, lock = -1;

	if (mount_workspace(pack, local_job_objects(stored), opts->workspace.dev, err))
		return -1;
	if (!opts->job.script)
		return run_local(set, opts, stored, err);
	if (private_tmp(&arena, &folder, &lock, err))
		return -1;
	code = run_local(set, opts, stored, err);
	tempdir_remove(folder, lock);
	return code;
}

int submit_local(struct job_set *set, const struct submit_opts *opts,
		 const struct workspace_pack *pack, struct error *err)
{
	struct local_job *stored;
	int code;

	if (set->n > 1)
		return error_set(err, ERR_INVALID, "%s: %zu TrainJobs; --local runs one",
				 job_opts_files(&set->input.arena, &opts->job), set->n);
	state_sweep();
	if (refuse(&set->list[0], err) || local_job_new(&stored, set, &set->list[0], err))
		return -1;
	if (local_job_no_progress(stored))
		cmd_complain("submit", "pods cannot report progress: %s",
			     local_job_no_progress(stored));
	code = run_with_code(set, opts, pack, stored, err);
	local_job_free(stored);
	return code;
}
