/* trainjob_status.c - set the conditions of a TrainJob (trainer/trainjob_status.h). */
#include "trainer/trainjob_status.h"

#include <stdlib.h>

#include "api/meta.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/trainjob.h"

#define STATE_RUNNING "Running"

const cJSON *status_condition(const cJSON *status, const char *type)
{
	return json_find_const(json_get(status, "conditions"), "type", type);
}

static bool is_true(const cJSON *condition)
{
	return str_eq(json_str(condition, "status"), "True");
}

bool status_is_true(const cJSON *status, const char *type)
{
	return is_true(status_condition(status, type));
}

bool status_finished(const cJSON *status)
{
	return status_is_true(status, COND_COMPLETE) ||
	       status_is_true(status, COND_FAILED);
}

const char *status_end_time(const cJSON *status)
{
	const char *type =
		status_is_true(status, COND_FAILED) ? COND_FAILED : COND_COMPLETE;

	if (!status_is_true(status, type))
		return NULL;
	return json_str(status_condition(status, type), "lastTransitionTime");
}

void status_set_condition(cJSON *status, cJSON *take, const char *now)
{
	cJSON *list = json_list(status, "conditions");
	const cJSON *old = json_find_const(list, "type", json_str(take, "type"));
	bool flips = !old || !str_eq(json_str(old, "status"), json_str(take, "status"));
	const char *time = json_str(take, "lastTransitionTime");

	if (!flips)
		time = json_str(old, "lastTransitionTime");
	else if (!time)
		time = now;
	if (time)
		json_put_str(take, time, "lastTransitionTime");
	json_upsert(list, "type", take);
}

static cJSON *condition(const char *type, bool is, const char *reason,
			const char *message)
{
	cJSON *c = cJSON_CreateObject();

	json_put_str(c, type, "type");
	json_put_str(c, is ? "True" : "False", "status");
	json_put_str(c, reason, "reason");
	json_put_str(c, message, "message");
	return c;
}

void status_suspend(cJSON *status, const cJSON *tj, const char *now)
{
	if (tj_suspend(tj))
		status_set_condition(status,
				     condition(COND_SUSPENDED, true, REASON_SUSPENDED,
					       "TrainJob is suspended"),
				     now);
	else if (status_is_true(status, COND_SUSPENDED))
		status_set_condition(status,
				     condition(COND_SUSPENDED, false, REASON_RESUMED,
					       "TrainJob is resumed"),
				     now);
}

static void copy_condition(cJSON *status, const cJSON *jobset, const char *from,
			   const char *to)
{
	const cJSON *theirs = status_condition(json_get(jobset, "status"), from);
	cJSON *ours;

	if (!is_true(theirs))
		return;
	ours = json_dup(theirs);
	json_put_str(ours, to, "type");
	status_set_condition(status, ours, NULL);
}

static cJSON *jobs_status(const cJSON *jobset)
{
	static const char *const counts[] = { "ready", "succeeded", "failed", "active",
					      "suspended" };
	const cJSON *theirs;
	cJSON *list = cJSON_CreateArray();

	json_each(theirs, jobset_jobs_status(jobset)) {
		cJSON *ours = cJSON_CreateObject();

		json_put_str(ours,
			     podspec_element_name(theirs) ? podspec_element_name(theirs)
							  : "",
			     "name");
		for (size_t i = 0; i < N_ELEMENTS(counts); i++)
			json_put_int(ours, json_int(theirs, 0, counts[i]), counts[i]);
		cJSON_AddItemToArray(list, ours);
	}
	return list;
}

bool status_is_exceeded(const cJSON *status)
{
	const cJSON *failed = status_condition(status, COND_FAILED);

	return is_true(failed) && str_eq(json_str(failed, "reason"), REASON_DEADLINE);
}

void status_of_jobset(cJSON *status, const cJSON *jobset)
{
	cJSON *list;

	if (!status_is_exceeded(status)) {
		copy_condition(status, jobset, "Completed", COND_COMPLETE);
		copy_condition(status, jobset, "Failed", COND_FAILED);
	}
	list = jobs_status(jobset);
	if (list->child) {
		json_put(status, list, "jobsStatus");
	} else {
		cJSON_Delete(list);
		json_del(status, JSON_PATH("jobsStatus"));
	}
}

void status_fail(cJSON *status, const char *reason, const char *message, const char *now)
{
	status_set_condition(status, condition(COND_FAILED, true, reason, message), now);
}

void status_block(cJSON *status, const char *reason, const char *message, const char *now)
{
	status_set_condition(status, condition(COND_RESOURCES, false, reason, message),
			     now);
}

void status_unblock(cJSON *status)
{
	cJSON *list = json_get(status, "conditions");

	cJSON_Delete(cJSON_DetachItemViaPointer(list,
						json_find(list, "type", COND_RESOURCES)));
	if (list && !list->child)
		json_del(status, JSON_PATH("conditions"));
}

void status_idle(cJSON *status)
{
	cJSON *job;

	json_each(job, json_get(status, "jobsStatus")) {
		json_put_int(job, 0, "active");
		json_put_int(job, 0, "ready");
	}
}

bool status_is_active(const cJSON *status)
{
	const cJSON *job;

	json_each(job, json_get(status, "jobsStatus"))
		if (json_int(job, 0, "active") > 0)
			return true;
	return false;
}

void status_exceed_deadline(cJSON *status, const char *now)
{
	status_fail(status, REASON_DEADLINE, "TrainJob exceeded its active deadline",
		    now);
}

static void set_message(cJSON *status, const char *message)
{
	json_put_str(json_find(json_list(status, "conditions"), "type", COND_FAILED),
		     message, "message");
}

void status_append_first_failure(cJSON *status, const char *who)
{
	const cJSON *failed = status_condition(status, COND_FAILED);
	cleanup_arena struct arena arena = { 0 };
	const char *message = json_str(failed, "message");

	set_message(status, arena_printf(&arena, "%s" STATUS_FIRST "%s",
					 message ? message : "", who));
}

bool status_keep_first_failure(cJSON *status, const cJSON *previous)
{
	const cJSON *failed = status_condition(status, COND_FAILED);
	const cJSON *before = status_condition(previous, COND_FAILED);
	const char *said = json_str(before, "message"), *message, *rest;

	if (!is_true(failed))
		return true;
	message = json_str(failed, "message");
	rest = is_true(before) && said ? str_after(said, message ? message : "") : NULL;
	if (!rest || (*rest && !str_starts(rest, STATUS_FIRST)))
		return false;
	set_message(status, said);
	return true;
}

int64_t status_first_exit_code(const cJSON *status)
{
	static const char says[] = ": exit code ";
	const char *at = json_str(status_condition(status, COND_FAILED), "message");

	at = at ? strstr(at, STATUS_FIRST) : NULL;
	at = at ? strstr(at, says) : NULL;
	return at ? strtoll(at + strlen(says), NULL, 10) : 0;
}

void status_events(const cJSON *before, const cJSON *now, const char *more,
		   const struct status_sink *to)
{
	static const struct {
		const char *condition, *becomes, *reason;
	} rows[] = {
		{ COND_SUSPENDED, "True", "Suspended" },
		{ COND_SUSPENDED, "False", "Resumed" },
		{ COND_COMPLETE, "True", "Completed" },
		{ COND_FAILED, "True", "Failed" },
	};

	for (size_t i = before ? 0 : 1; i < N_ELEMENTS(rows); i++) {
		const cJSON *c = status_condition(now, rows[i].condition);
		const cJSON *was = status_condition(before, rows[i].condition);
		const char *message = json_str(c, "message"),
			   *reason = json_str(c, "reason");
		bool failed = str_eq(rows[i].condition, COND_FAILED);
		cleanup_arena struct arena a = { 0 };

		if (!str_eq(json_str(c, "status"), rows[i].becomes) ||
		    str_eq(json_str(was, "status"), rows[i].becomes))
			continue;
		message = message ? message : "";
		if (failed)
			message = arena_printf(&a, "%s: %s%s", reason ? reason : "Failed",
					       message, more ? more : "");
		to->on_event(to->ctx, failed, rows[i].reason, message);
	}
}

const char *status_deadline_start(const cJSON *tj)
{
	const cJSON *suspended = status_condition(tj_status(tj), COND_SUSPENDED);

	if (str_eq(json_str(suspended, "status"), "False"))
		return json_str(suspended, "lastTransitionTime");
	return json_str(tj, "metadata", "creationTimestamp");
}

int64_t status_restarts(const cJSON *status)
{
	return json_int(status, 0, "restarts");
}

/* The start of a job whose controller was an older one: when it became able to run. */
static const char *start_of(const cJSON *tj, const cJSON *before, const char *now)
{
	const char *known = status_deadline_start(tj);

	return before && known && !status_condition(before, COND_RESOURCES) ? known : now;
}

static void set_start(cJSON *status, const cJSON *tj, const struct status_run *run,
		      const char *now)
{
	int64_t restarts = jobset_restarts(run->jobset);
	bool again = run->anew || restarts != run->restarts;

	if (json_str(status, "startTime") && !again)
		return;
	json_put_str(status,
		     json_str(status, "startTime") ? now : start_of(tj, run->before, now),
		     "startTime");
	if (restarts)
		json_put_int(status, restarts, "restarts");
	else
		json_del(status, JSON_PATH("restarts"));
}

void status_set_times(cJSON *status, const cJSON *tj, const struct status_run *run,
		      const char *now)
{
	const char *end = status_end_time(status);

	if (end && status_finished(run->before))
		return;
	if (!end && status_is_true(status, COND_SUSPENDED)) {
		json_del(status, JSON_PATH("startTime"));
		return;
	}
	if (run->jobset && !jobset_suspended(run->jobset) &&
	    !(end && json_str(status, "startTime")))
		set_start(status, tj, run, now);
	if (end)
		json_put_str(status, end, "completionTime");
}

/* RFC 3339 as seconds since 1970; -1: NULL or invalid. */
static int64_t seconds_of(const char *text)
{
	int64_t t;

	return text && !time_parse(&t, text, IGNORED) ? t : -1;
}

int64_t status_duration(const cJSON *tj, int64_t now)
{
	const cJSON *status = tj_status(tj);
	int64_t from = seconds_of(json_str(status, "startTime"));
	int64_t to = seconds_of(status_end_time(status));

	if (from < 0 && to < 0 && status_is_true(status, COND_SUSPENDED))
		return -1;
	if (from < 0)
		from = seconds_of(meta_created(tj));
	if (to < 0)
		to = now;
	return from < 0 ? -1 : to > from ? to - from : 0;
}

int64_t status_ttl(const cJSON *status)
{
	return json_int(status, ABSENT, "ttlSecondsAfterFinished");
}

void status_set_ttl(cJSON *status, int64_t seconds)
{
	if (seconds != ABSENT)
		json_put_int(status, seconds, "ttlSecondsAfterFinished");
}

int64_t status_expires(const cJSON *tj)
{
	int64_t end = seconds_of(status_end_time(tj_status(tj))), ttl = tj_ttl(tj);

	if (ttl == ABSENT)
		ttl = status_ttl(tj_status(tj));
	return end < 0 || ttl < 0 || ttl > INT32_MAX ? -1 : end + ttl;
}

/* `active` includes pods that wait for a node or an image. */
static bool has_run(const cJSON *status)
{
	bool ran = str_eq(json_str(status, "state"), STATE_RUNNING);
	const cJSON *job;

	json_each(job, json_get(status, "jobsStatus"))
		if (json_int(job, 0, "ready") > 0 || json_int(job, 0, "succeeded") > 0 ||
		    (ran && json_int(job, 0, "active") > 0))
			return true;
	return false;
}

const char *status_state(const cJSON *status)
{
	if (status_is_true(status, COND_FAILED))
		return "Failed";
	if (status_is_true(status, COND_COMPLETE))
		return "Complete";
	if (status_is_true(status, COND_SUSPENDED))
		return "Suspended";
	return has_run(status) ? STATE_RUNNING : "Created";
}

void status_set_state(cJSON *status)
{
	json_put_str(status, status_state(status), "state");
}
