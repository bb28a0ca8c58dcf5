/* jobs_rules.c - what always holds in world one (jobs.h). */
#include "tests/sim/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "jobs/jobs.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

enum {
	STALE_MS = 20000, /* so long may a pass work with what it has read */
	SLACK_MS = 6000,  /* between what a pass reads of a resume, and what it writes */
};

static bool says(const cJSON *status, const char *type)
{
	return status_is_true(status, type);
}

/* Its JobSet has ended, and its own TTL is over. */
static bool went_by_ttl(const struct job *j)
{
	return j->i == 3 && j->ended_ms;
}

/* An end is for ever. */
static void ends_once(struct job *j, const cJSON *tj)
{
	const cJSON *status = json_get(tj, "status");
	bool complete = says(status, COND_COMPLETE), failed = says(status, COND_FAILED);

	if (complete && failed)
		BROKEN(j, "%s is Complete and Failed", j->name);
	if (j->finished && !complete && !failed)
		BROKEN(j, "%s is no longer finished", j->name);
	if (j->finished && j->completed != complete)
		BROKEN(j, "%s has another end than before", j->name);
	if ((complete || failed) && !j->finished) {
		j->end_version = meta_version_number(tj);
		NOTE(j, "%s has ended: %s", j->name,
		     complete                     ? "Complete"
		     : status_is_exceeded(status) ? "too late"
						  : "Failed");
		users_see_the_status(j);
	}
	j->finished = complete || failed;
	j->completed = complete;
}

/* A status says no more than its own JobSet has said. */
static void claims_what_happened(struct job *j, const cJSON *status)
{
	if (says(status, COND_COMPLETE) && !j->succeeded)
		BROKEN(j, "%s is Complete, its JobSet is not", j->name);
	if (says(status, COND_FAILED) && !j->failed && !status_is_exceeded(status))
		BROKEN(j, "%s is Failed, its JobSet is not", j->name);
}

/* Its time counts from when it could run. */
static void is_late_in_time(struct job *j, const cJSON *status)
{
	int64_t ran = clock_ms() - j->runs_since;

	if (!j->finished && status_is_exceeded(status) && ran < j->deadline_ms - SLACK_MS)
		BROKEN(j, "%s is too late after %lld of %lld ms", j->name, (long long)ran,
		       (long long)j->deadline_ms);
}

static void is_ours(struct job *j, const cJSON *tj)
{
	const cJSON *jobset = jobset_of(j);

	if (j->foreign &&
	    ((json_get(tj, "status", "conditions") && !j->ended_elsewhere) ||
	     str_eq(json_str(meta_controller(jobset), "uid"), j->uid)))
		BROKEN(j, "%s is another controller's", j->name);
}

static void runs_no_more(struct job *j)
{
	if (j->ran_again)
		BROKEN(j, "%s runs again after its end", j->name);
}

/* The runtime is that of the first JobSet, unless that, which says so, is gone. */
static void keeps_its_runtime(struct job *j, const cJSON *jobset)
{
	const cJSON *job = json_get(jobset, "spec", "replicatedJobs");
	const cJSON *list = json_get(job ? (const cJSON *)job->child : NULL, "template",
				     "spec", "template", "spec", "containers");
	const char *image = json_str(list ? list->child : NULL, "image");

	if (!image || !str_eq(json_str(meta_controller(jobset), "uid"), j->uid))
		return;
	if (!j->image || j->objects_deleted || went_by_ttl(j)) {
		free(j->image);
		j->image = xstrdup(image);
	}
	if (!str_eq(image, j->image))
		BROKEN(j, "%s has another runtime than before", j->name);
	if (str_eq(image, STRANGERS))
		BROKEN(j, "%s runs what a stranger wrote", j->name);
}

/* Its pods run on the nodes of its last admission, never on those before. */
static void runs_where_admitted(struct job *j, const cJSON *jobset)
{
	const cJSON *node = json_find_const(json_get(jobset, "spec", "replicatedJobs"),
					    "name", "node");
	const char *flavor = json_str(node, "template", "spec", "template", "spec",
				      "nodeSelector", "flavor");
	char given[12];

	snprintf(given, sizeof(given), "%d", j->flavor);
	if (j->flavor && !j->toggled && !json_bool(jobset, false, "spec", "suspend") &&
	    str_eq(json_str(meta_controller(jobset), "uid"), j->uid) &&
	    !str_eq(flavor, given))
		BROKEN(j, "%s runs on nodes of flavor %s, it was given %s", j->name,
		       flavor ? flavor : "none", given);
}

/* Keys that pods may have been given stay as they are, for as long as the TrainJob does. */
static void keeps_its_secret(struct job *j)
{
	const cJSON *secret = object_of(j, SECRET);
	cleanup_free char *text = NULL;

	if (!secret || !str_eq(json_str(meta_controller(secret), "uid"), j->uid)) {
		if (j->secret && !j->dying && !meta_is_deleted(trainjob_of(j)))
			BROKEN(j, "the Secret of %s is lost", j->name);
		return;
	}
	text = json_text(json_get(secret, "data"));
	if (j->secret && !str_eq(j->secret, text))
		BROKEN(j, "the Secret of %s has changed", j->name);
	if (!j->secret)
		j->secret = STEAL(text);
}

/* What was acknowledged is there, and as its user wrote it. */
static void is_stored(struct job *j, const cJSON *tj)
{
	if (j->exists && (!tj || !str_eq(meta_uid(tj), j->uid)))
		BROKEN(j, "%s is lost", j->name);
	if (j->exists && tj_suspend(tj) != j->suspend)
		BROKEN(j, "%s is not suspended as its user wants it", j->name);
}

void rules_check(struct job *j)
{
	const cJSON *tj = trainjob_of(j);

	j->changed = false;
	is_stored(j, tj);
	if (!tj || !str_eq(meta_uid(tj), j->uid))
		return;
	is_late_in_time(j, tj_status(tj));
	ends_once(j, tj);
	claims_what_happened(j, tj_status(tj));
	is_ours(j, tj);
	runs_no_more(j);
	keeps_its_runtime(j, jobset_of(j));
	runs_where_admitted(j, jobset_of(j));
	keeps_its_secret(j);
}

/* What has ended and is gone in one moment is not seen by a controller that is away then. */
static bool end_was_seen(const struct job *j)
{
	const struct world *w = j->w;

	return !w->cut && w->leads_since < j->ended_ms - CALM_MS &&
	       w->apart_until < j->ended_ms;
}

/* It is made once, unless a user deletes it, and for a TrainJob that there is. */
void rules_on_new_jobset(struct job *j)
{
	const cJSON *jobset = jobset_of(j), *tj = trainjob_of(j);
	bool own = str_eq(json_str(meta_controller(jobset), "uid"), j->uid);

	if (own && j->wrong)
		BROKEN(j, "%s has a JobSet that JobSet refuses", j->name);
	if (own && (j->succeeded || j->failed) && !j->objects_deleted &&
	    (!went_by_ttl(j) || end_was_seen(j)))
		BROKEN(j, "%s runs twice", j->name);
	if (meta_controller(jobset) && !tj && clock_ms() - j->gone_ms > STALE_MS)
		BROKEN(j, "a JobSet is made for %s, which is gone", j->name);
}

/* Its Jobs say what it says. */
void rules_on_jobs(struct job *j, const cJSON *status)
{
	cleanup_json cJSON *list = jobs_objects(j->run->jobs);
	const char *job, *reason, *message;
	bool failed = jobs_first_failed(j->run->jobs, &job, &reason, &message);
	enum jobs_phase phase = jobs_phase(j->run->jobs);
	const cJSON *one;

	if (says(status, "Completed") && says(status, "Failed"))
		BROKEN(j, "JobSet %s is Completed and Failed", j->name);
	if ((phase == JOBS_COMPLETED) != says(status, "Completed") ||
	    (phase == JOBS_FAILED) != says(status, "Failed"))
		BROKEN(j, "JobSet %s is in another phase: %d", j->name, (int)phase);
	if (failed && !says(status, "Failed"))
		BROKEN(j, "Job %s failed (%s), JobSet %s has not", job, message, j->name);
	json_each(one, list) {
		const cJSON *own = json_get(one, "status");

		if (says(own, "Complete") && says(own, "Failed"))
			BROKEN(j, "Job %s is Complete and Failed", meta_name(one));
		if (says(own, "Complete") && json_int(own, 0, "active"))
			BROKEN(j, "Job %s is Complete, and its pods run", meta_name(one));
	}
}

/* Its pods run until they end, or users end them, or its time is up. */
void rules_on_end_of_run(struct job *j)
{
	const cJSON *tj = trainjob_of(j);

	if (j->run->running && tj && str_eq(meta_uid(tj), j->run->owner) &&
	    !meta_is_deleted(tj) && !status_finished(tj_status(tj)) &&
	    !j->objects_deleted && !j->dying && !went_by_ttl(j) &&
	    !(j->flavor && j->toggled)) /* perhaps on nodes of the admission before */
		BROKEN(j, "the controller ends the pods of %s", j->name);
}

/* A controller writes only while the Lease names it. */
void rules_on_write(struct world *w, const char *identity, const char *what)
{
	const cJSON *lease =
		identity ? seen_get(w, &w->lease, "leases.coordination.k8s.io",
				    "trainer.kubeflow.org")
			 : NULL;
	const char *holder = json_str(lease, "spec", "holderIdentity");

	if (identity && !str_eq(holder, identity))
		sim_broken(w->sim, "%s writes %s, the leader is %s", identity, what,
			   holder ? holder : "nobody");
}

/* By its TTL: one that has ended, once, and never early. */
void rules_on_deletion(struct job *j, const cJSON *tj)
{
	int64_t expires = status_expires(tj);

	if (meta_is_deleted(tj))
		return; /* by its user, and somebody holds it: nothing changes */
	if (j->expired)
		BROKEN(j, "%s is deleted twice", j->name);
	if (expires < 0 && !j->ended_elsewhere) /* its runtime may have a TTL */
		BROKEN(j, "%s is deleted, it has not ended", j->name);
	if (clock_now() < expires)
		BROKEN(j, "%s is deleted %d s early", j->name,
		       (int)(expires - clock_now()));
	j->expired = true;
}

/* ---- once faults have ended ---- */

static bool is_suspended(struct job *j, const cJSON *tj)
{
	const cJSON *jobset = jobset_of(j);

	return j->stays_suspended && tj_suspend(tj) &&
	       says(tj_status(tj), COND_SUSPENDED) && jobset &&
	       json_bool(jobset, false, "spec", "suspend");
}

/* It has ended and has no TTL, went by that, or is suspended as its user wants it, and so is its JobSet. */
bool rules_job_is_done(struct job *j)
{
	const cJSON *tj = trainjob_of(j);

	if (!tj)
		return j->expired;
	if (j->foreign)
		return true;
	if (status_finished(tj_status(tj)))
		return status_expires(tj) < 0;
	return is_suspended(j, tj);
}

/* The job has an Event about its pod's node. */
static void tells_of_disruption(struct job *j, const cJSON *tj)
{
	cleanup_json cJSON *list = apiserver_list(j->w->api, "v1", "Event", "default");
	const cJSON *e;

	json_each(e, list)
		if (str_eq(json_str(e, "reason"), "PodDisrupted") &&
		    str_eq(json_str(e, "involvedObject", "uid"), meta_uid(tj)))
			return;
	BROKEN(j, "no event says that %s lost a node", j->name);
}

static void no_foreign_jobset(struct job *j)
{
	const cJSON *jobset = jobset_of(j);

	if (jobset && !str_eq(json_str(meta_controller(jobset), "uid"), j->uid))
		BROKEN(j, "the JobSet of a deleted TrainJob %s remains", j->name);
}

/* The end of its JobSet is written soon after it. */
static void tells_the_end(struct job *j)
{
	const cJSON *jobset = jobset_of(j);
	const cJSON *status = json_get(jobset, "status");
	bool ended = (says(status, "Completed") || says(status, "Failed")) &&
		     str_eq(json_str(meta_controller(jobset), "uid"), j->uid);

	if (ended && j->unended_ms && clock_ms() - j->unended_ms > CALM_MS)
		BROKEN(j, "%s has ended, its status does not say so", j->name);
	j->unended_ms = !ended ? 0 : j->unended_ms ? j->unended_ms : clock_ms();
}

/* What a stranger changed is as the controller wrote it, soon after. */
static void repairs_the_hostfile(struct job *j)
{
	const cJSON *map = object_of(j, HOSTFILE);

	if (str_eq(json_str(map, "data", "hostfile"), STRANGERS))
		BROKEN(j, "the hostfile of %s is a stranger's", j->name);
}

/* Its deadline is kept, also by a controller that did not see it begin. */
static void ends_in_time(struct job *j, const cJSON *tj)
{
	const char *text = status_deadline_start(tj);
	int64_t start;

	if (!j->deadline_ms || tj_suspend(tj) || says(tj_status(tj), COND_SUSPENDED) ||
	    !text || time_parse(&start, text, IGNORED))
		return;
	if (clock_now() - start > (j->deadline_ms + CALM_MS) / 1000)
		BROKEN(j, "%s runs on after its deadline", j->name);
}

/* Once its time is over, its pods are ended, whatever fails meanwhile (trainer#3994). */
static void stops_when_late(struct job *j, const cJSON *tj)
{
	const cJSON *jobset = jobset_of(j);

	if (!status_is_exceeded(tj_status(tj)) ||
	    !str_eq(json_str(meta_controller(jobset), "uid"), j->uid))
		j->late_ms = 0;
	else if (!j->late_ms)
		j->late_ms = clock_ms();
	else if (clock_ms() - j->late_ms > CALM_MS)
		BROKEN(j, "%s is too late, and runs on", j->name);
}

void rules_check_calm(struct job *j)
{
	const cJSON *tj = trainjob_of(j);

	if (!tj || j->foreign || meta_is_deleted(tj))
		return;
	stops_when_late(j, tj);
	if (status_finished(tj_status(tj)))
		return;
	ends_in_time(j, tj);
	if (j->edited_ms && clock_ms() - j->edited_ms > CALM_MS)
		repairs_the_hostfile(j);
	if (j->disrupted_ms && clock_ms() - j->disrupted_ms > CALM_MS)
		tells_of_disruption(j, tj);
	tells_the_end(j);
}

void rules_check_settled(struct job *j)
{
	if (!rules_job_is_done(j))
		BROKEN(j, "%s is not done, %d s after the last fault", j->name,
		       (END_MS - FAULTS_MS) / 1000);
	no_foreign_jobset(j);
}
