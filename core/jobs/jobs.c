/* jobs.c - the loop between the JobSet and the Job controller (jobs/jobs.h). */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "jobs/jobs_impl.h"

char *jobs_printf(const char *fmt, ...)
{
	va_list ap;
	char *ret;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	ret = xmalloc((size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(ret, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return ret;
}

void jobs_act(struct jobs *j, enum jobs_action_type type, struct jobs_pod *pod)
{
	if (j->n_actions == j->cap_actions) {
		j->cap_actions = j->cap_actions ? 2 * j->cap_actions : 16;
		j->actions =
			xreallocarray(j->actions, j->cap_actions, sizeof(*j->actions));
	}
	j->actions[j->n_actions++] = (struct jobs_action){
		.type = type,
		.pod_name = pod->name,
		.pod = type == JOBS_CREATE_POD ? pod->doc : NULL,
	};
	j->changed = true;
}

void jobs_wake_at(struct jobs *j, int64_t ms)
{
	if (j->wake_ms < 0 || ms < j->wake_ms)
		j->wake_ms = ms;
}

/* ---- names ---------------------------------------------------------------------- */

static void add_name(struct jobs *j, const struct jobs_job *job, int index,
		     unsigned serial)
{
	char *pod = pod_new_name(job, index, serial);

	j->first_pods[j->n_names] = pod;
	j->names[j->n_names++] = pod_dns_names(j, job, index, pod);
}

static int pods_of(const struct jobs_rjob *r)
{
	return r->indexed ? r->completions : r->parallelism;
}

static void list_names(struct jobs *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->n_rjobs; i++)
		n += (size_t)j->rjobs[i].replicas * (size_t)pods_of(&j->rjobs[i]);
	j->first_pods = xcalloc(n, sizeof(*j->first_pods));
	j->names = xcalloc(n, sizeof(*j->names));
	jobs_each_job(job, j) for (int i = 0; i < pods_of(job->rjob); i++)
		add_name(j, job, job->rjob->indexed ? i : -1, (unsigned)i);
}

bool jobs_pod_names(const struct jobs *j, size_t i, const char **ret_pod,
		    const char *const **ret_names)
{
	if (i >= j->n_names)
		return false;
	*ret_pod = j->first_pods[i];
	*ret_names = (const char *const *)j->names[i];
	return true;
}

cJSON *jobs_pod_labels(const struct jobs *j, size_t i)
{
	jobs_each_job(job, j)
	{
		size_t n = (size_t)pods_of(job->rjob);

		if (i < n) {
			int index = job->rjob->indexed ? (int)i : -1;
			cleanup_json cJSON *pod = pod_new(j, job, index, "", 0);

			return json_dup(json_get(pod, "metadata", "labels"));
		}
		i -= n;
	}
	return NULL;
}

/* ---- create and free ------------------------------------------------------------- */

int jobs_new(struct jobs **ret, const cJSON *jobset, struct error *err)
{
	struct jobs *j = xcalloc(1, sizeof(*j));

	j->jobset = json_dup(jobset);
	j->status = cJSON_CreateObject();
	j->backoff_first_ms = JOBS_BACKOFF_FIRST_MS;
	j->backoff_max_ms = JOBS_BACKOFF_MAX_MS;
	jobs_default(j->jobset);
	if (jobs_read(j, err)) {
		error_wrap(err, "JobSet %s", j->name ? j->name : "");
		jobs_free(j);
		return -1;
	}
	list_names(j);
	jobset_write_status(j);
	*ret = j;
	return 0;
}

static void pod_free(struct jobs_pod *pod)
{
	free(pod->name);
	cJSON_Delete(pod->doc);
	cJSON_Delete(pod->status);
	free(pod);
}

static void job_free(struct jobs_job *job)
{
	struct jobs_pod *pod, *next;

	for (pod = job->pods; pod; pod = next) {
		next = pod->next;
		pod_free(pod);
	}
	free(job->name);
	free(job->uid);
	free(job->message);
	free(job->indexes);
}

void jobs_free(struct jobs *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->n_rjobs; i++) {
		for (int k = 0; j->rjobs[i].jobs && k < j->rjobs[i].replicas; k++)
			job_free(&j->rjobs[i].jobs[k]);
		free(j->rjobs[i].jobs);
	}
	for (size_t i = 0; i < j->n_names; i++) {
		free(j->first_pods[i]);
		for (char **name = j->names[i]; *name; name++)
			free(*name);
		free(j->names[i]);
	}
	free(j->first_pods);
	free(j->names);
	free(j->rjobs);
	free(j->actions);
	cJSON_Delete(j->status);
	cJSON_Delete(j->jobset);
	free(j);
}

void jobs_set_backoff(struct jobs *j, int64_t first_ms, int64_t max_ms)
{
	j->backoff_first_ms = first_ms;
	j->backoff_max_ms = max_ms;
}

void jobs_set_suspend(struct jobs *j, bool suspend)
{
	j->suspended = suspend;
	json_put_bool(j->jobset, suspend, "spec", "suspend");
}

/* ---- pod status -------------------------------------------------------------------- */

static struct jobs_pod *find_pod(struct jobs *j, const char *name)
{
	jobs_each_job(job,
		      j) for (struct jobs_pod *pod = job->pods; pod;
			      pod = pod->next) if (str_eq(pod->name, name)) return pod;
	return NULL;
}

static enum pod_phase phase_of(const cJSON *status)
{
	static const struct {
		const char *name;
		enum pod_phase phase;
	} phases[] = { { "Running", POD_RUNNING },
		       { "Succeeded", POD_SUCCEEDED },
		       { "Failed", POD_FAILED } };
	const char *name = json_str(status, "phase");

	for (size_t i = 0; i < N_ELEMENTS(phases); i++)
		if (str_eq(name, phases[i].name))
			return phases[i].phase;
	return POD_PENDING;
}

static int64_t restarts_in(const cJSON *container_statuses)
{
	const cJSON *c;
	int64_t n = 0;

	json_each(c, container_statuses)
		n += json_int(c, 0, "restartCount");
	return n;
}

static bool is_ready(const cJSON *status)
{
	const cJSON *ready =
		json_find_const(json_get(status, "conditions"), "type", "Ready");

	return str_eq(json_str(ready, "status"), "True");
}

void jobs_pod_status(struct jobs *j, const char *name, const cJSON *status,
		     int64_t now_ms)
{
	struct jobs_pod *pod = find_pod(j, name);
	bool was_over;

	if (!pod || pod->gone)
		return;
	was_over = pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
	if (!status) {
		pod->gone = true;
	} else if (!was_over) { /* a terminal phase is final */
		cJSON_Delete(pod->status);
		pod->status = json_dup(status);
		pod->phase = phase_of(status);
		pod->ready = is_ready(status);
		pod->restarts = restarts_in(json_get(status, "initContainerStatuses")) +
				restarts_in(json_get(status, "containerStatuses"));
	}
	if (!was_over)
		pod->finished_ms = now_ms;
}

const char *const *jobs_names_of(const struct jobs *j, const char *name)
{
	size_t first = 0; /* the number of the Job's first pod in jobs_pod_names() */

	jobs_each_job(job, j)
	{
		for (const struct jobs_pod *pod = job->pods; pod; pod = pod->next)
			if (str_eq(pod->name, name))
				return pod->index < 0
					       ? NULL
					       : (const char *const *)
							 j->names[first +
								  (size_t)pod->index];
		first += (size_t)pods_of(job->rjob);
	}
	return NULL;
}

/* ---- a step ---------------------------------------------------------------------- */

/* Free pods that no longer exist, and Jobs whose deletion waited for them. */
static void prune(struct jobs *j, struct jobs_job *job)
{
	struct jobs_pod **p = &job->pods, *pod;

	while ((pod = *p)) {
		if (pod->gone && (pod->counted || pod->deleting || job->deleting)) {
			*p = pod->next;
			pod_free(pod);
		} else {
			p = &pod->next;
		}
	}
	job->tail = p;
	if (job->deleting && !job->pods) {
		job_forget(job);
		j->changed = true;
	}
}

/*
 * A Job that fails before it has a pod (activeDeadlineSeconds: 0) would loop forever
 * under a policy that always restarts it.
 */
enum { MAX_ROUNDS = 1000 };

size_t jobs_step(struct jobs *j, int64_t now_ms, const struct jobs_action **ret_actions,
		 int64_t *ret_wake_ms)
{
	j->now_ms = now_ms;
	j->n_actions = 0;
	j->changed = true;
	for (int round = 0; j->changed; round++) {
		j->changed = false;
		j->wake_ms = -1;
		if (round == MAX_ROUNDS) {
			jobs_wake_at(j, now_ms + j->backoff_first_ms);
			break;
		}
		jobs_each_job(job, j) prune(j, job);
		jobset_sync(j);
		jobs_each_job(job, j) job_sync(j, job);
	}
	jobset_write_status(j);
	*ret_actions = j->actions;
	*ret_wake_ms = j->wake_ms;
	return j->n_actions;
}

enum jobs_phase jobs_phase(const struct jobs *j)
{
	if (j->completed)
		return JOBS_COMPLETED;
	if (j->failed)
		return JOBS_FAILED;
	return j->suspended ? JOBS_SUSPENDED : JOBS_RUNNING;
}

const cJSON *jobs_status(struct jobs *j)
{
	return j->status;
}
