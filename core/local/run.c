/* run.c - run one TrainJob from its objects to its result (local/run.h). */
#include "local/run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kubelet/ports.h"
#include "kubelet/sandbox.h"
#include "kubelet/venv.h"
#include "local/run_impl.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

/* While stopping: how often to check for a second Ctrl-C. */
enum { IMPATIENCE_MS = 100 };

enum {
	MIN_COLUMNS = 20,          /* a bar of fewer is of no use */
	TIMED_OUT = 124,           /* as timeout(1) */
	CLUSTER_BACKOFF_LIMIT = 6, /* Kubernetes' default */
};

/* ---- the kubelet's callbacks ----------------------------------------------------- */

static void on_status(void *ctx, const char *name)
{
	struct run *r = ctx;
	struct run_pod *pod = map_get(&r->pods, name);

	if (pod)
		pod->changed = true;
}

static void on_line(void *ctx, const char *pod, const char *container, const char *line,
		    size_t len)
{
	struct run *r = ctx;
	const struct local_observer *o = &r->opts->observer;
	const char *prefix;

	if (r->lines_ms < 0)
		run_activity(r, r->lines_ms = clock_ms());
	prefix = report_line(r->report, pod, container, line, len, r->lines_ms);
	if (alone_line(&r->alone, prefix, line, len))
		run_report_alone(r);
	if (o->on_line)
		o->on_line(o->ctx, prefix, line, len);
}

static void on_state(void *ctx, const char *pod, const char *container, const char *line,
		     size_t len, bool bar)
{
	struct run *r = ctx;
	const struct local_observer *o = &r->opts->observer;

	if (r->lines_ms < 0)
		run_activity(r, r->lines_ms = clock_ms());
	if (!o->on_state)
		return;
	o->on_state(o->ctx, report_prefix(r->report, pod, container), line, len, bar);
}

static void on_bytes(void *ctx, const char *data, size_t len)
{
	const struct run *r = ctx;

	r->opts->observer.on_bytes(r->opts->observer.ctx, data, len);
}

/* ---- pods ------------------------------------------------------------------------ */

static int64_t jobs_now(const struct run *r)
{
	return r->since_1970_ms + clock_ms();
}

void run_pod_free(void *p)
{
	struct run_pod *pod = p;

	free(pod->name);
	free(pod->wait_reason);
	cJSON_Delete(pod->doc);
	free(pod);
}

static void drop(struct run *r, struct run_pod *pod)
{
	kubelet_remove(r->kubelet, pod->name);
	jobs_pod_status(r->jobs, pod->name, NULL, jobs_now(r));
	report_forget(r->report, pod->name);
	map_del(&r->pods, pod->name);
	run_publish_gone(r, pod);
	r->step_again = r->changed = true;
}

static int64_t count_restarts(const cJSON *status)
{
	static const char *const lists[] = { "initContainerStatuses",
					     "containerStatuses" };
	const cJSON *c;
	int64_t n = 0;

	for (int i = 0; i < 2; i++)
		json_each(c, json_at(status, JSON_PATH(lists[i])))
			n += json_int(c, 0, "restartCount");
	return n;
}

static void report_restarts(const struct run *r, struct run_pod *pod, const cJSON *status)
{
	cleanup_arena struct arena a = { 0 };
	int64_t n = count_restarts(status);

	if (n > pod->restarts && r->end == RUN_ACTIVE && !pod->stopping)
		run_note(r, "%s failed; restarting it (restart %lld)",
			 podname_prefix(&a, &pod->podname, NULL), (long long)n);
	pod->restarts = n;
}

/* Process a status change; the exit of a pod that is being stopped is not a failure. */
static void apply_status(struct run *r, struct run_pod *pod, const cJSON *status)
{
	const char *phase = json_str(status, "phase");
	bool ran = pod->running;

	pod->changed = false;
	pod->running = str_eq(phase, "Running");
	if (pod->running && !ran)
		run_activity(r, clock_ms());
	pod->ended = str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
	free(pod->wait_reason);
	pod->wait_reason = NULL;
	if (str_eq(json_str(status, "reason"), "Unschedulable") &&
	    json_str(status, "message"))
		pod->wait_reason = xstrdup(json_str(status, "message"));
	if (!pod->stopping && r->end == RUN_ACTIVE)
		report_status(r->report, pod->name, status, clock_ms());
	report_restarts(r, pod, status);
	jobs_pod_status(r->jobs, pod->name, status, jobs_now(r));
	run_publish_pod(r, pod, status);
	r->step_again = r->changed = true;
	if (pod->ended && pod->stopping && r->end == RUN_ACTIVE)
		drop(r, pod);
}

static void apply_changes(struct run *r)
{
	map_each(e, &r->pods) {
		struct run_pod *pod = e->value;
		const cJSON *status;

		if (!pod->changed)
			continue;
		status = kubelet_status(r->kubelet, pod->name);
		if (status)
			apply_status(r, pod, status);
		else
			drop(r, pod);
	}
}

static bool any_runs(const struct run *r)
{
	map_each(e, &r->pods) {
		const struct run_pod *pod = e->value;

		if (!pod->ended)
			return true;
	}
	return false;
}

/* The status of a pod that could not start, as a kubelet reports it. */
static cJSON *start_error(const cJSON *pod, const char *why)
{
	const cJSON *c = json_get(pod, "spec", "containers");
	cJSON *status = cJSON_CreateObject(), *one = cJSON_CreateObject();

	json_put_str(status, "Failed", "phase");
	json_put_str(one, c && c->child ? json_str(c->child, "name") : "", "name");
	json_put_int(one, 128, "state", "terminated", "exitCode");
	json_put_str(one, "StartError", "state", "terminated", "reason");
	json_put_str(one, why, "state", "terminated", "message");
	cJSON_AddItemToArray(json_list(status, "containerStatuses"), one);
	return status;
}

static int start(struct run *r, const struct jobs_action *act, struct error *err)
{
	const char *const *names = jobs_names_of(r->jobs, act->pod_name);

	if (names && kubelet_add_name(r->kubelet, act->pod_name, names, err))
		return -1;
	return kubelet_start(r->kubelet, act->pod, err);
}

static void create(struct run *r, const struct jobs_action *act)
{
	struct run_pod *pod = xcalloc(1, sizeof(*pod));
	struct error err = { 0 };

	pod->name = xstrdup(act->pod_name);
	(void)podname_parse(&pod->podname, r->jobset, pod->name);
	pod->changed = true;
	pod->doc = json_dup(act->pod);
	map_put(&r->pods, pod->name, pod);
	run_publish_replaced(r, pod);
	if (start(r, act, &err)) {
		cleanup_json cJSON *status = start_error(act->pod, err.msg);

		apply_status(r, pod, status);
	}
}

static void stop(struct run *r, struct run_pod *pod, int64_t grace_ms)
{
	pod->stopping = true;
	run_publish_pod(r, pod, NULL);
	kubelet_stop(r->kubelet, pod->name, grace_ms);
	pod->changed = true;
}

void run_stop_all(struct run *r, int64_t grace_ms)
{
	map_each(e, &r->pods) {
		struct run_pod *pod = e->value;

		if (!pod->ended)
			stop(r, pod, grace_ms);
	}
}

/* ---- the loop -------------------------------------------------------------------- */

static void report_jobset_restart(struct run *r)
{
	int64_t n = json_int(jobs_status(r->jobs), 0, "restarts");

	if (n > r->restarts) {
		report_restart(r->report);
		run_note(r, "restart %lld of the job: recreating all pods", (long long)n);
	}
	r->restarts = n;
}

/* Run the controllers until they have nothing left to do. */
static void step(struct run *r)
{
	do {
		const struct jobs_action *act;
		int64_t wake;
		size_t n = jobs_step(r->jobs, jobs_now(r), &act, &wake);

		r->step_again = false;
		r->changed |= n || (r->wake_ms >= 0 && r->wake_ms <= clock_ms());
		r->wake_ms = wake < 0 ? -1 : wake - r->since_1970_ms;
		report_jobset_restart(r);
		for (size_t i = 0; i < n; i++) {
			struct run_pod *pod = map_get(&r->pods, act[i].pod_name);

			if (act[i].type == JOBS_CREATE_POD)
				create(r, &act[i]);
			else if (pod)
				stop(r, pod, -1);
		}
		/* Pods that have started or ended meanwhile are published once. */
		if (n) {
			run_show(r);
			(void)!kubelet_poll(r->kubelet, 0, r->wake_fd, IGNORED);
		}
		apply_changes(r);
	} while (r->step_again && r->end == RUN_ACTIVE);
}

static bool is_over(const struct run *r)
{
	enum jobs_phase phase = jobs_phase(r->jobs);

	if (any_runs(r))
		return false;
	return r->end != RUN_ACTIVE || phase == JOBS_COMPLETED || phase == JOBS_FAILED ||
	       (r->wake_ms < 0 && phase != JOBS_SUSPENDED);
}

static int timeout_ms(const struct run *r)
{
	const int64_t times[] = { r->wake_ms,    r->pass_ms,  r->timeout_ms,
				  r->running_ms, r->pause_ms, r->silent_check_ms };
	int64_t now = clock_ms(), until = -1;

	if (r->end == RUN_INTERRUPTED)
		return IMPATIENCE_MS;
	if (r->end != RUN_ACTIVE)
		return -1;
	for (size_t i = 0; i < N_ELEMENTS(times); i++)
		if (times[i] >= 0 && (until < 0 || times[i] < until))
			until = times[i];
	if (until < 0)
		return -1;
	until -= now;
	return until < 0 ? 0 : until > 3600000 ? 3600000 : (int)until;
}

static void interrupt(struct run *r)
{
	if (r->end != RUN_INTERRUPTED && stop_requested()) {
		r->end = RUN_INTERRUPTED;
		r->signal = stop_signal() ? stop_signal() : SIGTERM;
		run_note(r, "stopping all processes%s",
			 r->signal == SIGINT ? "; press Ctrl-C again to kill them" : "");
		run_stop_all(r, -1);
	}
	if (r->end == RUN_INTERRUPTED && stop_interrupts() > 1 && !r->killing) {
		r->killing = true;
		run_stop_all(r, 0);
	}
}

static void check_timeout(struct run *r)
{
	if (r->end != RUN_ACTIVE || r->timeout_ms < 0 || clock_ms() < r->timeout_ms ||
	    jobs_phase(r->jobs) > JOBS_SUSPENDED)
		return;
	r->end = RUN_TIMED_OUT;
	run_note(r, "timeout expired: stopping all processes");
	run_stop_all(r, -1);
}

static bool all_run(const struct run *r)
{
	map_each(e, &r->pods) {
		const struct run_pod *pod = e->value;

		if (!pod->running && !pod->ended)
			return false;
	}
	return r->pods.n;
}

/* Call on_running(), unless the job is about to end: then its result is reported. */
static void report_running(struct run *r)
{
	const struct local_observer *o = &r->opts->observer;
	bool late = r->running_ms >= 0 && clock_ms() >= r->running_ms;

	if (!o->on_running || r->reported_running || r->end != RUN_ACTIVE ||
	    jobs_phase(r->jobs) != JOBS_RUNNING || !(late || all_run(r)))
		return;
	r->reported_running = true;
	r->running_ms = -1;
	o->on_running(o->ctx, late);
}

static void pause_lines(struct run *r)
{
	const struct local_observer *o = &r->opts->observer;

	if (o->on_pause &&
	    (r->lines_ms >= 0 || (r->pause_ms >= 0 && r->pause_ms <= clock_ms())))
		r->pause_ms = o->on_pause(o->ctx, false);
	r->lines_ms = -1;
}

/* A full disk does not end the job: it is reported once, at the end. */
static void update(struct run *r)
{
	if (!run_must_pass(r))
		return;
	run_publish(r);
	(void)!run_control(r, false, IGNORED);
}

static int loop(struct run *r, struct error *err)
{
	for (;;) {
		if (r->end == RUN_ACTIVE)
			step(r);
		else
			apply_changes(r);
		update(r);
		run_show(r); /* with the progress of this pass */
		if (is_over(r))
			return 0;
		if (r->step_again && r->end == RUN_ACTIVE)
			continue;
		report_running(r);
		if (kubelet_poll(r->kubelet, timeout_ms(r),
				 r->end == RUN_INTERRUPTED ? -1 : r->wake_fd, err))
			return -1;
		run_take_signals(r);
		pause_lines(r);
		apply_changes(r);
		interrupt(r);
		check_timeout(r);
		run_check_quiet(r);
	}
}

/* ---- begin ----------------------------------------------------------------------- */

static int copy_documents(struct run *r, struct error *err)
{
	const struct local_run_opts *opts = r->opts;
	const cJSON *o;

	json_each(o, opts->objects)
		if (str_eq(meta_kind(o), JOBSET_KIND))
			r->jobset = json_dup(o);
	if (!r->jobset)
		return error_set(err, ERR_INVALID, "no JobSet to run");
	r->trainjob = json_dup(opts->trainjob);
	json_del(r->trainjob, JSON_PATH("status"));
	json_put_str(r->trainjob, opts->ns, "metadata", "namespace");
	json_put_str(r->trainjob, opts->name, "metadata", "name");
	json_put_str(r->jobset, opts->ns, "metadata", "namespace");
	jobset_add_claims(r->jobset);
	run_set_restarts(r);
	return 0;
}

/* The columns that the prefix of a line takes, "[node-10] ". */
static int prefix_columns(const struct run *r)
{
	const cJSON *rjob;
	int most = 0;

	json_each(rjob, jobset_jobs_const(json_get((const cJSON *)r->jobset, "spec"))) {
		const char *name = json_str(rjob, "name");
		int n = snprintf(NULL, 0, "[%s-%lld] ", name ? name : "",
				 (long long)rjob_pods(rjob) - 1);

		most = n > most ? n : most;
	}
	return most;
}

static int open_kubelet(struct run *r, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	struct kubelet_opts opts = {
		.dir = r->state.dir,
		.log_dir = r->state.logs,
		.no_namespaces = r->opts->no_namespaces,
		.gpus = r->opts->gpus,
		.workdir = r->opts->workdir,
		.served = r->opts->owner != NULL,
		.objects = r->opts->objects,
		.pod_key = r->opts->pod_key,
		.torch_fix = r->opts->torch_fix,
		.venv = meta_annotation(r->trainjob, VENV_ANNOTATION),
		.terminal = r->opts->terminal,
		.on_bytes = on_bytes,
		.on_line = on_line,
		.on_state = on_state,
		.on_status = on_status,
		.ctx = r,
	};

	if (opts.venv && venv_check(opts.venv, err))
		return error_wrap(err, "annotation " VENV_ANNOTATION);
	if (r->opts->columns > 0) {
		int room = r->opts->columns - 1 - prefix_columns(r);

		opts.columns = room > MIN_COLUMNS ? room : MIN_COLUMNS;
		opts.rows = r->opts->rows;
	}
	if (state_claims_dir(&a, &opts.claims, r->opts->ns, err))
		return -1;
	return kubelet_new(&r->kubelet, &opts, err);
}

static int add_names(struct run *r, struct error *err)
{
	const char *pod, *const *names;

	for (size_t i = 0; jobs_pod_names(r->jobs, i, &pod, &names); i++)
		if (kubelet_add_name(r->kubelet, pod, names, err))
			return -1;
	return 0;
}

static void start_clocks(struct run *r)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	r->start_ms = clock_ms();
	r->since_1970_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000 - r->start_ms;
	r->pass_ms = r->wake_ms = r->lines_ms = r->timeout_ms = r->running_ms = -1;
	r->pause_ms = r->silent_check_ms = -1;
	if (r->opts->timeout_ms > 0)
		r->timeout_ms = r->start_ms + r->opts->timeout_ms;
	if (r->opts->running_ms > 0)
		r->running_ms = r->start_ms + r->opts->running_ms;
}

static int begin_state(struct run *r, struct error *err)
{
	const struct local_run_opts *o = r->opts;

	if (!o->owner && state_owned_check(o->ns, o->name, err))
		return -1;
	if (o->dry_run)
		return state_probe(&r->state, o->ns, o->name, err);
	if (state_begin(&r->state, o->ns, o->name, r->trainjob, o->objects, err))
		return -1;
	return o->owner ? state_own(&r->state, o->ns, o->name, o->owner, err) : 0;
}

static int begin(struct run *r, struct error *err)
{
	r->changed = true;
	start_clocks(r);
	r->state.lock = r->wake_fd = -1;
	if (copy_documents(r, err) || run_listen(r, err))
		return -1;
	if (sandbox_check_kernel(err) || begin_state(r, err))
		return -1;
	r->report = report_new(r->jobset, r->start_ms);
	if (open_kubelet(r, err) || run_mpi_edit(r, err) || run_supervise_edit(r, err) ||
	    jobs_new(&r->jobs, r->jobset, err) || run_check(r, err))
		return -1;
	if (r->opts->dry_run)
		return 0;
	return run_map_ports(r, err) || add_names(r, err) || run_add_services(r, err) ||
			       run_mpi_files(r, err)
		       ? -1
		       : 0;
}

/* ---- result ---------------------------------------------------------------------- */

/* Print a message up to STATUS_FIRST: the report already names the first failure. */
static void print_message(struct buf *out, const char *reason, const char *message)
{
	const char *end = strstr(message, STATUS_FIRST);
	size_t len = end ? (size_t)(end - message) : strlen(message);

	buf_printf(out, "%s: %.*s\n", reason, (int)len, message);
}

/* Print the failure of a Job, unless a container failed, and that of the TrainJob. */
static void print_condition(struct buf *out, const struct run *r)
{
	const cJSON *status = json_get((const cJSON *)r->trainjob, "status");
	const cJSON *c = status_condition(status, COND_FAILED);
	const char *job, *reason, *message;

	if (!report_exit_code(r->report) &&
	    jobs_first_failed(r->jobs, &job, &reason, &message))
		buf_printf(out, "%s: %s: %s\n", job, reason, message);

	if (c && status_is_true(status, COND_FAILED))
		print_message(out, json_str(c, "reason"), json_str(c, "message"));
	else
		buf_adds(
			out,
			"nothing left to run, but no policy completes or fails the job\n");
}

static void fill_report(struct run *r, struct local_result *ret)
{
	cleanup_buf struct buf b = { .max = sizeof(ret->report) - 1 };
	cleanup_arena struct arena a = { 0 };
	const char *named = local_named(&a, r->opts->ns, r->opts->name), *reason;

	report_print(&b, r->report, r->state.logs, named);
	reason = json_str(status_condition(json_get((const cJSON *)r->trainjob, "status"),
					   COND_FAILED),
			  "reason");
	if (!b.len || !str_eq(reason, "FailedJobs"))
		print_condition(&b, r);
	if (!report_exit_code(r->report))
		buf_printf(&b, "logs: %s (kftrainer logs %s)\n", r->state.logs, named);
	snprintf(ret->report, sizeof(ret->report), "%s", (const char *)b.data);
}

static void report_no_retry(const struct run *r)
{
	if (r->gives_up && !r->opts->max_restarts && !r->restarts &&
	    r->end == RUN_ACTIVE && jobs_phase(r->jobs) == JOBS_FAILED &&
	    report_exit_code(r->report))
		run_note(r,
			 "not retried: backoffLimit is not set and defaults to 0 on this "
			 "machine (%d on a cluster); retry with --max-restarts N",
			 CLUSTER_BACKOFF_LIMIT);
}

static void fill_result(struct run *r, struct local_result *ret)
{
	*ret = (struct local_result){ 0 };
	if (r->end == RUN_INTERRUPTED) {
		ret->interrupted = true;
		ret->exit_code = 128 + r->signal;
		return;
	}
	if (r->end == RUN_TIMED_OUT) {
		ret->timed_out = true;
		ret->exit_code = TIMED_OUT;
		return;
	}
	if (jobs_phase(r->jobs) == JOBS_COMPLETED)
		return;
	ret->exit_code = report_exit_code(r->report);
	if (!ret->exit_code || r->end == RUN_DELETED)
		ret->exit_code = 1;
	fill_report(r, ret);
}

static void release(struct run *r)
{
	cleanup_arena struct arena a = { 0 };

	kubelet_free(r->kubelet);
	if (r->state.dir)
		(void)!dir_remove(path_join(&a, r->state.dir, "pods"), IGNORED);
	map_release(&r->pods, run_pod_free);
	map_release(&r->deleted_pods, run_pod_free);
	jobs_free(r->jobs);
	report_free(r->report);
	cJSON_Delete(r->jobset);
	cJSON_Delete(r->trainjob);
	cJSON_Delete(r->saved_status);
	cJSON_Delete(r->published);
	run_free_ports(r);
	run_mpi_free(r);
	if (r->wake_fd >= 0)
		close(r->wake_fd);
}

int local_run(const struct local_run_opts *opts, struct local_result *ret,
	      struct error *err)
{
	struct run r = { .opts = opts };
	struct error save = { 0 };
	int failed;

	failed = begin(&r, err);
	if (!failed && !opts->dry_run && opts->runtime)
		state_save_runtime(&r.state, opts->runtime);
	if (!failed && opts->observer.on_begin)
		opts->observer.on_begin(opts->observer.ctx, r.trainjob);
	if (failed || opts->dry_run) {
		release(&r);
		state_cancel(&r.state);
		return failed;
	}
	(void)!run_control(&r, false, &save);
	failed = loop(&r, err);
	if (opts->observer.on_pause)
		(void)opts->observer.on_pause(opts->observer.ctx, true);
	r.changed = true;
	run_publish(&r);
	if (run_control(&r, true, &save))
		run_note(&r, "cannot save the final status: %s", save.msg);
	report_no_retry(&r);
	if (r.alone.text[0] && jobs_phase(r.jobs) == JOBS_COMPLETED)
		run_note(&r, "warning: it completed, but %s", r.alone.text);
	if (!failed)
		fill_result(&r, ret);
	if (!failed && *ret->report)
		state_save_report(&r.state, ret->report);
	release(&r);
	state_end(&r.state);
	return failed;
}
