/* wait.c - wait until a job has reached a state, by a watch (client/changes.h). */
#include <inttypes.h>
#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "client/changes.h"
#include "client/goal.h"
#include "client/jobs.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "cmd/ui/pick.h"
#include "cmd/ui/viewer.h"
#include "kube/named.h"
#include "spec/refer.h"
#include "trainer/api.h"
#include "trainer/progress_line.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

struct wait_opts {
	struct where_opts where;
	const char *goal;
	int64_t timeout;
};

static const struct opt opts_table[] = {
	WHERE_OPTIONS(struct wait_opts),
	OPT_STR(0, "for", "STATE",
		"complete (default), failed, finished, running, suspended, deleted or "
		"condition=TYPE[=STATUS]",
		struct wait_opts, goal),
	OPT_DURATION(0, "timeout", "TIME", "how long to wait; then exit with code 124",
		     struct wait_opts, timeout, 1, OPT_LONGEST),
	{ .type = OPT_END },
};

/* ---- waiting ------------------------------------------------------------------------ */

struct waiting {
	struct kube *kube;
	const char *ns, *name;
	struct goal goal;
	int64_t until; /* clock_ms(); < 0: forever */
	cJSON *job;    /* the last version; NULL: deleted */
	bool listed;   /* the watch has shown it */
	bool several;  /* jobs to wait for: progress is shown with the job's name */
	struct viewer viewer;
};

/* Print what the job reports; a job that reports nothing is waited for in silence. */
static void show_progress(struct waiting *w)
{
	cleanup_arena struct arena arena = { 0 };
	const char *line;

	if (!w->job || !str_eq(status_state(tj_status(w->job)), "Running"))
		return;
	line = progress_line(&arena, w->job);
	if (str_starts(line, "running: "))
		viewer_progress(&w->viewer,
				w->several ? arena_printf(&arena, "%s: %s", w->name, line)
					   : line);
}

/* Apply the change; returns whether the job may have another state now. */
static bool take_change(struct waiting *w, struct change *change)
{
	bool gone = change->kind == CHANGE_DELETED;

	switch (change->kind) {
	case CHANGE_LOST:
	case CHANGE_FOUND:
		viewer_erase(&w->viewer);
		cluster_report_change("wait", change);
		return false;
	case CHANGE_SYNCED:
		if (!w->listed) /* the job does not exist any more */
			cJSON_Delete(STEAL(w->job));
		return !w->job;
	default:
		break;
	}
	w->listed = true;
	/* Another uid: the job is gone, and a new one has its name. */
	gone |= w->job && !str_eq(meta_uid(w->job), meta_uid(change->obj));
	cJSON_Delete(w->job);
	w->job = gone ? NULL : STEAL(change->obj);
	return true;
}

/* 1: the goal is reached or missed; 0: timed out. */
static int watch(struct waiting *w, struct error *err)
{
	const struct kube_ref ref = job_ref(w->ns, w->name);
	cleanup_changes struct changes *c = NULL;

	w->listed = false; /* until then its state is what was read before */
	if (changes_new(&c, w->kube, NULL, NULL, err) ||
	    changes_watch(c, &ref, NULL, NULL, err))
		return -1;
	for (;;) {
		cleanup_change struct change change = { 0 };
		int64_t left = w->until < 0 ? -1 : w->until - clock_ms();
		int rc = w->until >= 0 && left <= 0 ? 0
						    : changes_next(c, left, &change, err);

		if (rc <= 0)
			return rc;
		if (!take_change(w, &change))
			continue;
		if (goal_judge(&w->goal, w->job) != GOAL_PENDING)
			return 1;
		show_progress(w);
	}
}

static int report_missed(const struct waiting *w)
{
	const cJSON *status = tj_status(w->job);
	const char *why = json_str(status_condition(status, COND_FAILED), "message");

	if (!w->job) {
		cmd_complain("wait", "TrainJob %s has been deleted", w->name);
		return EXIT_FAILED;
	}
	if (!status_is_true(status, COND_FAILED)) {
		cmd_complain("wait", "TrainJob %s is %s", w->name, status_state(status));
		return EXIT_FAILED;
	}
	cmd_complain("wait", "TrainJob %s failed%s%s; see 'kftrainer why%s %s -n %s'",
		     w->name, why ? ": " : "", why ? why : "", kube_named(w->kube),
		     w->name, w->ns);
	return w->goal.kind == GOAL_COMPLETE ? job_exit_code(w->kube, w->ns, w->name)
					     : EXIT_FAILED;
}

static int wait_for(struct waiting *w, struct error *err)
{
	int rc = job_get(w->kube, w->ns, w->name, &w->job, err);

	if (rc && err->kind == ERR_NOT_FOUND && w->goal.kind == GOAL_DELETED)
		*err = (struct error){ 0 };
	else if (rc)
		return -1;
	rc = goal_judge(&w->goal, w->job) != GOAL_PENDING;
	if (!rc && (w->until < 0 || clock_ms() < w->until))
		rc = watch(w, err);
	viewer_erase(&w->viewer);
	if (rc < 0)
		return -1;
	if (!rc) {
		if (w->job)
			cmd_complain("wait",
				     "timed out: TrainJob %s is %s; see 'kftrainer "
				     "why%s %s -n %s'",
				     w->name, status_state(tj_status(w->job)),
				     kube_named(w->kube), w->name, w->ns);
		else
			cmd_complain("wait", "timed out: TrainJob %s is missing",
				     w->name);
		return EXIT_TIMED_OUT;
	}
	if (goal_judge(&w->goal, w->job) == GOAL_MISSED)
		return report_missed(w);
	if (w->job)
		printf("trainjob %s is %s\n", w->name, status_state(tj_status(w->job)));
	else
		printf("trainjob %s is gone\n", w->name);
	fflush(stdout);
	return EXIT_OK;
}

/* As kubectl, wait for all jobs even if one fails; returns the first failure's code. */
static int wait_all(struct waiting *w, char **names, struct error *err)
{
	bool several = *names && names[1];
	int ret = EXIT_OK;

	for (; *names; names++) {
		int code;

		w->name = *names;
		code = wait_for(w, err);
		cJSON_Delete(STEAL(w->job));
		if (code < 0 && (!several || !pick_is_about_one(err)))
			return -1;
		if (code < 0) {
			cmd_complain("wait", "%s", err->msg);
			*err = (struct error){ 0 };
			code = EXIT_FAILED;
		}
		ret = ret ? ret : code;
	}
	return ret;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct wait_opts *opts = values;
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *k = NULL;
	struct waiting w = { .until = opts->timeout ? clock_ms() + opts->timeout : -1 };
	int code;

	if (!argc)
		return error_set(err, ERR_USAGE, "specify at least one job");
	if (refer_jobs(argv, err) || goal_read(&w.goal, &arena, opts->goal, err) ||
	    where_connect(&k, &w.ns, &arena, &opts->where, err))
		return -1;
	pick_skip_kind(k, w.ns, false, &argc, &argv);
	w.kube = k;
	w.several = argc > 1;
	viewer_begin(&w.viewer, argv[0], kube_job_named(k, &arena, w.ns, argv[0]), false);
	code = wait_all(&w, argv, err);
	return code < 0 ? cmd_failed(err) : code;
}

const struct cmd cmd_wait = {
	.name = "wait",
	.args = "JOB...",
	.summary = "wait until a TrainJob has finished",
	.about =
		"Exits with 0 when the job reaches the state. Otherwise exits with 1 or, when\n"
		"waiting for complete, with the exit code of the process that failed first; with\n"
		"124 after --timeout. Waits for each of several jobs; the exit code is that of\n"
		"the first that failed. Shows on standard error what the job reports: its\n"
		"progress, metrics and the time left.",
	.example = "kftrainer wait bert && kftrainer logs bert --rank 0 --tail 5\n"
		   "kftrainer wait bert --for running --timeout 5m\n"
		   "kftrainer wait bert --for condition=Suspended=False",
	.opts = opts_table,
	.opts_size = sizeof(struct wait_opts),
	.run = run,
};
