/* reconcile_status.c - status and events (manager/reconcile_impl.h). */
#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "manager/names.h"
#include "manager/reconcile_impl.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/framework.h"
#include "trainer/jobset.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

enum { LACKS_MS = 10 * 60 * 1000 }; /* then the CRD is asked again, by one write */

/* ---- counting ---- */

static const double to_jobset_s[] = { 1, 2, 5, 10, 30, 60, 300, 1800 };

const struct metric trainjobs_gauge = {
	.type = METRIC_GAUGE,
	.name = "trainer_trainjobs",
	.help = "Number of TrainJobs, by state and runtime.",
	.labels = { "state", "runtime" },
};
const struct metric jobset_seconds = {
	.type = METRIC_HISTOGRAM,
	.name = "trainer_trainjob_jobset_seconds",
	.help = "Time from the creation of a TrainJob to that of its JobSet.",
	.buckets = to_jobset_s,
	.n_buckets = N_ELEMENTS(to_jobset_s),
};
const struct metric failures_total = {
	.type = METRIC_COUNTER,
	.name = "trainer_trainjob_failures_total",
	.help = "Number of failed TrainJobs, by runtime and reason.",
	.labels = { "runtime", "reason" },
};
const struct metric *const reconcile_metrics[] = { &trainjobs_gauge, &jobset_seconds,
						   &failures_total, NULL };

void reconciler_uncount_state(struct reconciler *r, struct job_memory *n)
{
	if (!n->counted.runtime)
		return;
	metrics_add(r->conf.metrics, &trainjobs_gauge, -1, n->counted.state,
		    n->counted.runtime);
	free(n->counted.runtime);
	n->counted.runtime = NULL;
}

/* The gauge trainer_trainjobs: counts the TrainJob as `state`, no longer as before. */
static void count_state(struct pass *p, const char *state)
{
	const char *runtime = tj_runtime_ref(p->tj).name;
	struct job_memory *n = p->memory;

	if (n->counted.runtime && str_eq(n->counted.state, state) &&
	    str_eq(n->counted.runtime, runtime))
		return;
	reconciler_uncount_state(p->r, n);
	n->counted.runtime = xstrdup(runtime);
	n->counted.state = state; /* one of status_state()'s constants */
	metrics_add(p->r->conf.metrics, &trainjobs_gauge, 1, state, runtime);
}

/* ---- what changed ---- */

cJSON *status_patch(const cJSON *before, const cJSON *is)
{
	cJSON *patch = cJSON_CreateObject();
	const cJSON *member;

	json_each(member, is)
		if (!json_equal(member, json_get(before, member->string)))
			cJSON_AddItemToObject(patch, member->string, json_dup(member));
	json_each(member, before)
		if (!json_get(is, member->string))
			cJSON_AddNullToObject(patch, member->string);
	if (patch->child)
		return patch;
	cJSON_Delete(patch);
	return NULL;
}

/* ---- events ---- */

static void on_event(void *ctx, bool warning, const char *reason, const char *message)
{
	struct pass *p = ctx;
	const cJSON *failed = status_condition(tj_status(p->tj), COND_FAILED);
	const char *why = json_str(failed, "reason");

	pass_event(p, warning, reason, message);
	if (warning)
		metrics_add(p->r->conf.metrics, &failures_total, 1,
			    tj_runtime_ref(p->tj).name, why ? why : "");
}

static void emit_events(struct pass *p)
{
	const char *first = p->status.first_failure;

	status_events(p->status.before, tj_status(p->tj),
		      first ? first + p->status.first_failure_len : NULL,
		      &(struct status_sink){ on_event, p });
}

/* ---- the status itself ---- */

/* False: objects could not be written, so that spec.suspend is not in effect yet. */
static bool suspend_is_effective(const struct pass *p, bool built)
{
	if (built || status_finished(tj_status(p->tj)))
		return true;
	return tj_suspend(p->tj) && (!p->jobset.own || jobset_suspended(p->jobset.own));
}

/* Adds the first failed pod to the message, all that the SDK shows of a failure. */
static void append_first_failure(struct pass *p, cJSON *status)
{
	struct pod_facts *pods = p->r->conf.pods;
	cleanup_arena struct arena arena = { 0 };

	if (status_is_exceeded(status) ||
	    status_keep_first_failure(status, p->status.before) || !pods)
		return;
	p->status.first_failure = pod_facts_first_failure(pods, p->r->conf.kube, p->tj,
							  &p->status.first_failure_len);
	if (p->status.first_failure)
		status_append_first_failure(status,
					    str_slice(&arena, p->status.first_failure,
						      p->status.first_failure_len));
}

/* Sets or clears the condition of a job that waits for the PodGroup kind. */
static void check_missing(struct pass *p, bool built, cJSON *status)
{
	const char *version = p->memory->missing_group;

	if (version && !status_finished(status))
		status_block(status, REASON_NO_GROUPS, pass_missing_text(p, version),
			     p->status.now);
	else if (built)
		status_unblock(status);
}

static int compute(struct pass *p, bool built, struct error *err)
{
	cJSON *status = json_obj(p->tj, "status");
	const struct plugin *plugin = framework_status_plugin(plugins);
	const struct plugin_env env = { 0 };

	if (suspend_is_effective(p, built))
		status_suspend(status, p->tj, p->status.now);
	if (p->jobset.own && plugin->status(&env, p->tj, p->jobset.own, status, err))
		return -1;
	check_missing(p, built, status);
	append_first_failure(p, status);
	if (!p->jobset.own && status_is_exceeded(status))
		status_idle(status);
	if (end_check_deadline(p, status, err) || end_set_times(p, status, err))
		return -1;
	if (!pass_crd_lacks(&p->r->state_lacks_until))
		status_set_state(status);
	count_state(p, status_state(status));
	return 0;
}

/* Only members that upstream's CRDs lack. */
static bool is_ours_alone(const cJSON *change)
{
	static const char *const ours[] = { "state",
					    "startTime",
					    "completionTime",
					    "restarts",
					    "ttlSecondsAfterFinished",
					    NULL };
	const cJSON *member;

	json_each(member, change)
		if (!str_in(member->string, ours))
			return false;
	return true;
}

bool pass_crd_lacks(const atomic_llong *until)
{
	return clock_ms() < *until;
}

/* True: the change has the member, but the API server's answer has not. */
static bool is_dropped(const cJSON *change, const cJSON *answer, const char *member)
{
	return json_str(change, member) && !json_str(answer, "status", member);
}

/*
 * Upstream's CRD may be installed. API servers then drop `state` and the times, and refuse
 * a status that has nothing else (minProperties). Other refusals do not depend on it.
 * True: it was all that was to be written.
 */
static bool learn_crd(struct reconciler *r, const cJSON *change, const cJSON *answer,
		      const struct error *err)
{
	bool none = !answer && err->kind == ERR_INVALID &&
		    strstr(err->msg, "status in body should have at least 1");

	if (none || (answer && is_dropped(change, answer, "state")))
		r->state_lacks_until = clock_ms() + LACKS_MS;
	if (none || (answer && (is_dropped(change, answer, "startTime") ||
				is_dropped(change, answer, "completionTime"))))
		r->times_lack_until = clock_ms() + LACKS_MS;
	return none;
}

/*
 * True: only numbers of pods change and, in a cluster, the state that follows from them.
 * A local run writes a new state at once, as its user waits for it.
 */
static bool is_count_only(const struct pass *p, const cJSON *change)
{
	const cJSON *member;

	json_each(member, change)
		if (!str_eq(member->string, "jobsStatus") &&
		    (p->r->conf.local || !str_eq(member->string, "state")))
			return false;
	return true;
}

static void add_step(cJSON *steps, const char *op, const char *path, cJSON *take_value)
{
	cJSON *step = cJSON_CreateObject();

	json_put_str(step, op, "op");
	json_put_str(step, path, "path");
	if (take_value)
		json_put(step, take_value, "value");
	cJSON_AddItemToArray(steps, step);
}

/*
 * A JSON Patch of this TrainJob, never of a new one of the same name: an API
 * server ignores a uid in a merge patch of a status. A resourceVersion would fail while a
 * process posts progress all the time. The first status replaces none that another writer
 * (a restored backup) has set meanwhile.
 */
static cJSON *patch_of_uid(struct pass *p, const cJSON *change)
{
	cJSON *steps = cJSON_CreateArray();
	const cJSON *member;

	add_step(steps, "test", "/metadata/uid", cJSON_CreateString(meta_uid(p->tj)));
	if (!p->status.before) {
		add_step(steps, "test", "/status", cJSON_CreateNull());
		add_step(steps, "add", "/status", json_dup(tj_status(p->tj)));
	} else {
		json_each(member, change)
			add_step(steps, cJSON_IsNull(member) ? "remove" : "add",
				 arena_printf(&p->arena, "/status/%s", member->string),
				 cJSON_IsNull(member) ? NULL : json_dup(member));
	}
	return steps;
}

/* ERR_CONFLICT instead, if the TrainJob is not as the patch tests. */
static void explain_refusal(struct pass *p, struct error *err)
{
	struct error why = { 0 };
	bool has_status;

	if (pass_check_alive(p, &has_status, &why))
		*err = why;
	else if (has_status && !p->status.before)
		error_set(err, ERR_CONFLICT, "another writer has set the first status");
}

static int write_status(struct pass *p, const cJSON *change, struct error *err)
{
	bool ours_alone = is_ours_alone(change);
	const struct kube_write how = { .manager = MANAGER_FIELD_OWNER,
					.subresource = "status",
					.meta_only = !ours_alone };
	struct kube_ref ref = kube_ref_of(p->tj);
	cleanup_json cJSON *patch = patch_of_uid(p, change);
	cleanup_json cJSON *answer = NULL;
	int rc;

	rc = kube_merge_patch(p->r->conf.kube, &ref, patch, &how, &answer, err);
	if (ours_alone && learn_crd(p->r, change, answer, err))
		return 0;
	if (rc && err->kind == ERR_INVALID)
		explain_refusal(p, err);
	p->memory->written.status_unsure =
		rc && (pass_no_answer(err) || err->kind == ERR_CONFLICT);
	if (rc)
		return -1;
	p->memory->written.trainjob_version = meta_version_number(answer);
	count_limit_wrote(&p->r->counts, &p->memory->written.status,
			  is_count_only(p, change), clock_ms());
	return 0;
}

/* The ms to wait, or 0: the pods of a large job become ready one after the other. */
static int64_t status_delay_ms(const struct pass *p, const cJSON *change)
{
	bool is_active = status_is_active(tj_status(p->tj));

	/* The last pod of a suspended job has ended: Kueue waits to free the quota. */
	if (tj_suspend(p->tj) && status_is_active(p->status.before) && !is_active)
		return 0;
	if (!is_count_only(p, change))
		return 0;
	return count_limit_delay(&p->r->counts, &p->memory->written.status, clock_ms());
}

int status_reconcile(struct pass *p, bool built, struct error *err)
{
	cleanup_json cJSON *change = NULL;
	int64_t wait_ms;

	if (compute(p, built, err))
		return -1;
	change = status_patch(p->status.before, tj_status(p->tj));
	wait_ms = change ? status_delay_ms(p, change) : 0;
	if (wait_ms) {
		pass_requeue_after(p, wait_ms);
		return 0;
	}
	if (change && write_status(p, change, err))
		return error_clear_if(err, ERR_NOT_FOUND); /* the TrainJob was deleted */
	end_was_written(p);
	if (change)
		emit_events(p);
	if (status_is_exceeded(tj_status(p->tj)) && objects_delete_jobset(p, NULL, err))
		return -1;
	return end_expire(p, err);
}
