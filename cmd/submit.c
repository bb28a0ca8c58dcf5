/* submit.c - run TrainJobs on a cluster (client/submit.h) or on this machine (cmd/submit_impl.h). */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/detach.h"
#include "base/stop.h"
#include "base/str.h"
#include "client/dev_record.h"
#include "client/submit.h"
#include "cmd/cmd.h"
#include "cmd/submit_dev.h"
#include "cmd/submit_file.h"
#include "cmd/submit_impl.h"
#include "cmd/submit_resume.h"
#include "cmd/ui/follow.h"
#include "cmd/ui/interactive.h"
#include "cmd/ui/out.h"
#include "cmd/ui/render.h"
#include "cmd/ui/workspace_view.h"
#include "kubelet/venv.h"

static const char *const dry_runs[] = { "none", "client", "server", NULL };

static const struct opt opts_table[] = {
	JOB_FILE_OPTIONS(struct submit_opts),
	OPT_BOOL(0, "local", "run it as processes on this machine", struct submit_opts,
		 local),
	OPT_BOOL(0, "detach", "with --local: return when the pods run; the job continues",
		 struct submit_opts, detach),
	OPT_BOOL('i', "interactive", "with --local: one process, on this terminal",
		 struct submit_opts, interactive),
	{ .type = OPT_ENUM,
	  .name = "dry-run",
	  .value = "WHERE",
	  .bare = "client",
	  .help = "only print the objects that would be created",
	  .words = dry_runs,
	  .offset = OPT_ENUM_FIELD(struct submit_opts, dry_run) },
	{ .type = OPT_ENUM,
	  .letter = 'o',
	  .name = "output",
	  .value = "FORMAT",
	  .help = "print the objects that are created, or with --dry-run would be",
	  .words = render_formats,
	  .min = 1,
	  .offset = OPT_ENUM_FIELD(struct submit_opts, output) },
	OPT_BOOL('w', "follow", "show progress and output until the job finishes",
		 struct submit_opts, follow),
	OPT_BOOL(0, "wait", "wait until it finishes; exit with its exit code",
		 struct submit_opts, wait),
	OPT_DURATION(
		0, "timeout", "TIME",
		"limit for --follow, --wait, --detach; without them stop a local job",
		struct submit_opts, timeout_ms, 1, OPT_LONGEST),
	OPT_INT(0, "max-restarts", "N",
		"with --local: how often to restart the job when it fails",
		struct submit_opts, max_restarts, 0, INT32_MAX),
	OPT_BOOL(0, "suspend", "create it suspended", struct submit_opts, job.suspend),
	OPT_BOOL(0, "supervise", "start a failed rank again, with all others, in its pod",
		 struct submit_opts, job.supervise),
	OPT_STR(0, "track", "URI",
		"send its metrics to mlflow+https://HOST/EXPERIMENT; with --supervise",
		struct submit_opts, job.track),
	OPT_BOOL(0, "dev", "keep its pods when it ends, for 'kftrainer rerun'",
		 struct submit_opts, workspace.dev),
	OPT_DURATION(0, "idle", "TIME",
		     "with --dev: end the job after so long without a run (default: 30m)",
		     struct submit_opts, idle_ms, 1, OPT_LONGEST),
	OPT_STR(0, "run-dir", "URI",
		"keep code, logs, metrics and checkpoints there; with --supervise",
		struct submit_opts, job.run_dir),
	OPT_INT(0, "keep-checkpoints", "N",
		"with --run-dir: keep N complete checkpoints (default: 3)",
		struct submit_opts, job.keep, 1, 10000),
	OPT_STR(0, "resume", "RUN-DIR",
		"run that job again, with its code, from its newest checkpoint",
		struct submit_opts, resume),
	JOB_EXPORT_OPTIONS(struct submit_opts),
	WORKSPACE_OPTIONS(struct submit_opts),
	OPT_STR(0, "venv", "DIR", "with --local: Python environment of the pods",
		struct submit_opts, venv),
	CLUSTER_OPTIONS(struct submit_opts),
	OPT_BOOL('q', "quiet", "print only the job's own output", struct submit_opts,
		 quiet),
	OPT_BOOL('v', "verbose", "with --local: also print which ports are mapped",
		 struct submit_opts, verbose),
	OPT_STR(0, "runtime", "RUNTIME", "runtime of a TrainJob without a file",
		struct submit_opts, job.runtime),
	JOB_FLAG_OPTIONS(struct submit_opts),
	{ .type = OPT_END },
};

static int check_limits(const struct submit_opts *opts, struct error *err)
{
	if (opts->timeout_ms && !opts->follow && !opts->wait && !opts->local)
		return error_set(err, ERR_USAGE,
				 "--timeout requires --follow, --wait or --local");
	if (opts->verbose && !opts->local)
		return error_set(err, ERR_USAGE, "--verbose requires --local");
	if (opts->max_restarts && !opts->local)
		return error_set(err, ERR_USAGE,
				 "--max-restarts requires --local; in a cluster set "
				 "failurePolicy.maxRestarts in the runtime");
	return 0;
}

static int check_detach(const struct submit_opts *opts, struct error *err)
{
	if (!opts->detach)
		return 0;
	if (!opts->local)
		return error_set(
			err, ERR_USAGE,
			"--detach requires --local; in a cluster submit returns at once");
	if (!opts->follow && !opts->wait)
		return 0;
	return error_set(err, ERR_USAGE,
			 "--detach cannot be combined with --%s: use 'kftrainer %s' "
			 "after it",
			 opts->follow ? "follow" : "wait",
			 opts->follow ? "logs -f" : "wait");
}

static int check_interactive(const struct submit_opts *opts, struct error *err)
{
	bool apart = opts->detach || opts->follow || opts->wait || opts->job.suspend;

	return opts->interactive ? interactive_check(opts->local, apart, err) : 0;
}

static int check_opts(const struct submit_opts *opts, struct error *err)
{
	const struct {
		bool given;
		const char *name;
	} of_cluster[] = {
		{ opts->cluster.kubeconfig, "--kubeconfig" },
		{ opts->cluster.context, "--context" },
	};

	if (check_detach(opts, err) || check_interactive(opts, err))
		return -1;
	for (size_t i = 0; i < N_ELEMENTS(of_cluster); i++)
		if (opts->local && of_cluster[i].given)
			return error_set(err, ERR_USAGE,
					 "%s cannot be combined with --local",
					 of_cluster[i].name);
	if (opts->dry_run && (opts->follow || opts->wait || opts->detach))
		return error_set(err, ERR_USAGE, "--dry-run cannot be combined with --%s",
				 opts->follow ? "follow"
				 : opts->wait ? "wait"
					      : "detach");
	if (check_limits(opts, err))
		return -1;
	return workspace_check_opts(&opts->workspace, opts->local, err);
}

static void show_inputs(const struct submit_opts *opts)
{
	if (!opts->quiet && opts->job.dataset)
		fprintf(stderr, "dataset: at /workspace/dataset in the pods\n");
	if (!opts->quiet && opts->job.model)
		fprintf(stderr, "model: at /workspace/model in the pods\n");
	if (!opts->quiet && opts->job.export.uri)
		fprintf(stderr, "model: what rank 0 leaves in $KFTRAINER_MODEL_DIR is "
				"uploaded at the end\n");
	if (!opts->quiet && opts->job.run_dir)
		fprintf(stderr,
			"run directory: what the script leaves in "
			"$KFTRAINER_CHECKPOINT_DIR is kept; with Hugging Face's Trainer:\n"
			"  args = TrainingArguments(os.environ[\"KFTRAINER_CHECKPOINT_DIR\"], ...)\n"
			"  trainer.train(resume_from_checkpoint=os.environ.get(\"KFTRAINER_RESUME_FROM\"))\n");
}

/* Into opts->job.venv, stored in `path`. */
static int find_venv(struct submit_opts *opts, char path[PATH_MAX], struct error *err)
{
	if (!opts->venv)
		return 0;
	if (!realpath(opts->venv, path))
		return error_set(err, ERR_USAGE, "--venv %s: %s", opts->venv,
				 strerror(errno));
	if (venv_check(path, err))
		return error_wrap(err, "--venv");
	opts->job.venv = path;
	return 0;
}

static void ignore_venv(struct job_opts *job)
{
	if (job->venv)
		cmd_complain("submit", "--venv is ignored: in a cluster the image "
				       "provides the Python environment");
	job->venv = NULL;
}

const char *submit_format(const struct submit_opts *opts)
{
	if (opts->output)
		return render_formats[opts->output - 1];
	return opts->dry_run == DRY_RUN_CLIENT ? render_formats[0] : NULL;
}

bool submit_creates_first(const struct submit_opts *opts)
{
	return opts->local && !opts->dry_run &&
	       (opts->follow || opts->wait || opts->job.suspend);
}

/* ---- to a cluster ------------------------------------------------------------------ */

static void print_nothing(void *ctx, const cJSON *obj, const char *outcome)
{
}

/* Is it `controller --local`, whose pods are processes of this machine? */
static bool is_this_machine(struct kube *k)
{
	cleanup_json cJSON *version = NULL;
	const char *text;

	if (kube_call(k, "GET", "/version", NULL, &version, IGNORED))
		return false;
	text = json_str((const cJSON *)version, "gitVersion");
	return text && strstr(text, "+kftrainer-");
}

static int connect_to(struct kube **ret, const struct submit_opts *opts,
		      struct job_opts *job, struct arena *arena, struct error *err)
{
	const struct where_opts where = { .cluster = opts->cluster, .ns = job->ns };

	if (where_connect(ret, &job->default_ns, arena, &where, err))
		return -1;
	if (job->venv && !kube_is_inside(*ret) && !is_this_machine(*ret))
		ignore_venv(job);
	if (!kube_is_inside(*ret))
		return 0;
	return error_set(err, ERR_NOT_FOUND,
			 "no cluster: no kubeconfig with clusters found "
			 "(--kubeconfig, $KUBECONFIG, ~/.kube/config); --local runs "
			 "the job on this machine");
}

static int check_follow(const struct submission *s, const struct submit_opts *opts,
			struct error *err)
{
	if (!opts->follow || submission_jobs(s) < 2)
		return 0;
	return error_set(err, ERR_USAGE,
			 "--follow takes one TrainJob, found %zu; use --wait",
			 submission_jobs(s));
}

static int print_stored(const struct submission *s, const char *format, struct error *err)
{
	cJSON *items = cJSON_CreateArray();
	cleanup_json cJSON *list = out_list(items);

	for (size_t i = 0; i < s->n; i++) {
		const struct submit_item *item = &s->list[i];
		cJSON *obj = json_dup(item->stored ? item->stored : item->doc->obj);

		meta_drop_managed_fields(obj);
		cJSON_AddItemToArray(items, obj);
	}
	return render_objects(items, s->n == 1 ? items->child : list, format, err);
}

static int show(const struct submission *s, const struct submit_opts *opts,
		struct error *err)
{
	bool dry_run = opts->dry_run == DRY_RUN_SERVER;

	if (submit_format(opts))
		return print_stored(s, submit_format(opts), err);
	for (size_t i = 0; dry_run && i < s->n; i++) {
		const struct submit_item *item = &s->list[i];

		if (!item->stored)
			cmd_complain("submit",
				     "TrainJob %s was checked locally only: its runtime "
				     "is not in the cluster yet",
				     meta_name(item->obj));
		outcome_report(&s->conf->out, item->stored ? item->stored : item->obj,
			       DRY_RUN_OUTCOME);
	}
	return 0;
}

/* Wait for the jobs in order; returns the exit code of the first that failed. */
static int wait_all(const struct submission *s, const struct submit_opts *opts,
		    struct error *err)
{
	int64_t start = clock_ms(), end = start + opts->timeout_ms;
	int ret = EXIT_OK;

	for (size_t i = 0; i < s->n; i++) {
		const cJSON *job = s->list[i].stored;
		struct submit_follow how = { .ns = meta_namespace(job),
					     .name = meta_name(job),
					     .show = opts->follow,
					     .quiet = opts->quiet,
					     .start_ms = start };
		int code;

		if (!s->list[i].job)
			continue;
		if (opts->timeout_ms)
			how.timeout_ms = end > clock_ms() ? end - clock_ms() : 1;
		code = submit_follow(s->kube, &how, err);
		if (code < 0 || code == EXIT_TIMED_OUT || stop_requested())
			return code;
		ret = ret ? ret : code;
	}
	return ret;
}

/* Dry-run all objects; create them unless one is refused or exists, or --dry-run. */
static int store(struct submission *s, const struct submit_opts *opts,
		 struct workspace_pack *pack, struct error *err)
{
	if (submission_dry_run(s, err))
		return -1;
	if (opts->dry_run || s->refused || s->exist)
		return 0;
	if (workspace_pack_upload(pack, opts->quiet, err))
		return -1;
	return submission_send(s, err);
}

/* Without a record the jobs run all the same. */
static void record_dirs(const struct submission *s, const struct submit_opts *opts)
{
	struct error err = { 0 };

	for (size_t i = 0; i < s->n && opts->workspace.dev && !opts->dry_run; i++)
		if (s->list[i].job && s->list[i].stored &&
		    dev_record_write(s->list[i].stored, &err))
			cmd_complain("submit", "'kftrainer rerun' needs --workspace: %s",
				     err.msg);
}

static int submit_to_cluster(const struct submit_opts *opts, struct workspace_pack *pack,
			     struct error *err)
{
	struct submit_conf conf = {
		.job = opts->job,
		.upload = pack->upload.digest ? &pack->upload : NULL,
		.keep = opts->workspace.keep,
		.out = out_outcomes("submit"),
	};
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *kube = NULL;
	cleanup_submission struct submission s = { 0 };

	if (opts->quiet || submit_format(opts))
		conf.out.object = print_nothing;
	if (connect_to(&kube, opts, &conf.job, &arena, err) ||
	    submission_read(&s, kube, &conf, err) || check_follow(&s, opts, err) ||
	    store(&s, opts, pack, err))
		return -1;
	if (s.refused || s.exist)
		return s.refused ? EXIT_BAD_INPUT : EXIT_FAILED;
	record_dirs(&s, opts);
	show_inputs(opts);
	if (show(&s, opts, err))
		return -1;
	return opts->follow || opts->wait ? wait_all(&s, opts, err) : EXIT_OK;
}

/* Where the command finds its files, and of which work tree they are. */
static void find_code(struct submit_opts *opts)
{
	struct job_opts *job = &opts->job;

	job->code_dir = opts->workspace.dir;
	if (opts->local && !opts->workspace.dir && !opts->resume)
		job->code_dir = ".";
	if (job->code_dir && (job->export.uri || opts->workspace.dir))
		job->worktree = job->code_dir;
}

static int submit(struct submit_opts *opts, struct error *err)
{
	cleanup_history_origin struct history_origin origin = { 0 };
	cleanup_workspace_pack struct workspace_pack pack = { 0 };
	cleanup_job_set struct job_set set = { 0 };
	const struct reporter to = cmd_reporter("submit");
	bool to_cluster = !opts->local && opts->dry_run != DRY_RUN_CLIENT;
	int code;

	if (submit_resume(&origin, &opts->job, &opts->workspace, &to, err) ||
	    workspace_pack_dir(&pack, &opts->workspace,
			       opts->local  ? WORKSPACE_LOCAL
			       : to_cluster ? WORKSPACE_API
					    : WORKSPACE_PRINTED,
			       &to, err))
		return -1;
	if (!opts->quiet && !to_cluster)
		workspace_pack_report(&pack);
	if (pack.annotations.digest)
		opts->job.workspace = &pack.annotations;
	opts->job.restarts = opts->max_restarts;
	find_code(opts);
	if (to_cluster)
		return submit_to_cluster(opts, &pack, err);
	code = job_set_load(&set, &opts->job, opts->local ? NAMES_RANDOM : NAMES_FIXED,
			    &to, err);
	if (code)
		return code < 0 ? -1 : EXIT_BAD_INPUT;
	show_inputs(opts);
	if (opts->local)
		return submit_local(&set, opts, &pack, err);
	workspace_pack_add_objects(&pack, &set);
	return render_jobs(&set, submit_format(opts), err);
}

/* ---- in the background --------------------------------------------------------------- */

static int follow_local(const struct submit_opts *opts, int64_t start_ms,
			struct error *err)
{
	const struct where_opts where = { .ns = opts->created->ns, .local = true };
	const struct submit_follow how = { .ns = opts->created->ns,
					   .name = opts->created->name,
					   .show = opts->follow,
					   .quiet = opts->quiet,
					   .start_ms = start_ms,
					   .timeout_ms = opts->timeout_ms };
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *kube = NULL;
	const char *ns;

	if (where_connect(&kube, &ns, &arena, &where, err))
		return -1;
	return submit_follow(kube, &how, err);
}

/* A child process in a session of its own runs the job. */
static int submit_in_background(struct submit_opts *opts, struct error *err)
{
	int64_t start_ms = clock_ms();
	int rc, code;

	opts->created = mmap(NULL, sizeof(*opts->created), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (opts->created == MAP_FAILED)
		return error_errno(err, errno, "cannot share memory");
	rc = detach(&opts->to, &code, err);
	if (!rc)
		return submit(opts, err);
	if (rc < 0)
		return -1;
	if (code || !(opts->follow || opts->wait))
		return code;
	return follow_local(opts, start_ms, err);
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	struct submit_opts opts = *(const struct submit_opts *)values;
	cleanup_arena struct arena arena = { 0 };
	char venv[PATH_MAX];

	opts.workspace.from = opts.resume;
	if ((opts.resume ? submit_resume_check(&opts.job, &opts.workspace, opts.resume,
					       argc, &arena, err)
			 : submit_file(&opts.job, argc, argv, err)) ||
	    submit_dev(&opts.job, &opts.workspace, opts.idle_ms, &arena, err) ||
	    check_opts(&opts, err) || find_venv(&opts, venv, err))
		return -1;
	if (opts.dry_run == DRY_RUN_CLIENT) {
		if (!opts.local)
			ignore_venv(&opts.job);
		opts.local = false; /* prints a cluster's objects */
	}
	if (opts.detach || submit_creates_first(&opts))
		return submit_in_background(&opts, err);
	return submit(&opts, err);
}

const struct cmd cmd_submit = {
	.name = "submit",
	.args = "[FILE|-|CODE.py] [-- COMMAND...]",
	.summary = "run a TrainJob",
	.about =
		"Creates the job in the cluster of the kubeconfig; with --local runs it as\n"
		"processes on this machine.\n"
		"\n"
		"The file contains TrainJobs and, optionally, runtimes, ConfigMaps and Secrets,\n"
		"which are applied first. The API server validates all objects before any is\n"
		"stored. --local and --dry-run=client use the runtimes in the file, those of\n"
		"--runtime-file and the built-in ones ('kftrainer runtime list').\n"
		"\n"
		"Without a file, --runtime and the options below it describe the TrainJob; with\n"
		"one, they replace what the file has. A Python script in place of the file is\n"
		"stored in the job, byte for byte; words after '--' are its arguments.\n"
		"\n"
		"With --local, --follow or --wait the exit code is that of the job: 0, or that of\n"
		"the first process that failed; 124 after --timeout. A local job ends with this\n"
		"command, unless --follow, --wait, --suspend or --detach is given.",
	.example =
		"kftrainer submit --local job.yaml\n"
		"kftrainer submit --dry-run=client -o yaml job.yaml\n"
		"kftrainer submit --local --runtime torch-distributed --nodes 2 \\\n"
		"    --nproc-per-node 2 --env A=b -- torchrun train.py\n"
		"kftrainer submit train.py --nodes 2 --launcher accelerate -- --epochs 3\n"
		"kftrainer submit --local job.yaml --gpu 0 --venv .venv --env-file .env \\\n"
		"    --arg --epochs=3\n"
		"kftrainer submit --runtime torchtune-llama3.2-1b --model hf://org/model \\\n"
		"    --dataset hf://org/data/dir -- tune run epochs=2\n"
		"kftrainer submit --follow --workspace code --runtime torch-distributed \\\n"
		"    -- torchrun train.py",
	.opts = opts_table,
	.opts_size = sizeof(struct submit_opts),
	.run = run,
};
