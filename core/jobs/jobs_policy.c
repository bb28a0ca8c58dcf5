/* jobs_policy.c - match pod failure and success policies of a Job (jobs/jobs_impl.h). */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "jobs/jobs_impl.h"

static bool int_in(const cJSON *values, int64_t v)
{
	const cJSON *node;
	int64_t value;

	json_each(node, values)
		if (json_int_of(node, &value) && value == v)
			return true;
	return false;
}

/* The container of the list whose exit code the rule names, or NULL. */
static const cJSON *match_exit_code(const cJSON *statuses, const cJSON *on)
{
	const char *want = json_str(on, "containerName");
	bool not_in = str_eq(json_str(on, "operator"), "NotIn");
	const cJSON *c;

	json_each(c, statuses) {
		int64_t code = json_int(c, 0, "state", "terminated", "exitCode");

		if (code && (!want || str_eq(want, json_str(c, "name"))) &&
		    int_in(json_get(on, "values"), code) != not_in)
			return c;
	}
	return NULL;
}

static const char *match_condition(const cJSON *status, const cJSON *patterns)
{
	const cJSON *cond, *pattern;

	json_each(cond, json_get(status, "conditions"))
		json_each(pattern, patterns) {
			const char *want = json_str(pattern, "status");

			if (str_eq(json_str(cond, "type"), json_str(pattern, "type")) &&
			    str_eq(json_str(cond, "status"),
				   want && *want ? want : "True"))
				return json_str(cond, "type");
		}
	return NULL;
}

/* True: the rule matches; *ret_message is the message of the Job's condition. */
static bool match_rule(const struct jobs *j, const struct jobs_pod *pod,
		       const cJSON *rule, int number, char **ret_message)
{
	const cJSON *on = json_get(rule, "onExitCodes"), *st = pod->status, *c;
	const char *action = json_str(rule, "action"), *type;

	if (on) {
		c = match_exit_code(json_get(st, "containerStatuses"), on);
		if (!c)
			c = match_exit_code(json_get(st, "initContainerStatuses"), on);
		if (c)
			*ret_message = jobs_printf(
				"Container %s for pod %s/%s failed with exit code %d "
				"matching %s rule at index %d",
				json_str(c, "name"), j->ns, pod->name,
				(int)json_int(c, 0, "state", "terminated", "exitCode"),
				action ? action : "", number);
		return c != NULL;
	}
	type = match_condition(st, json_get(rule, "onPodConditions"));
	if (type)
		*ret_message = jobs_printf(
			"Pod %s/%s has condition %s matching %s rule at index %d", j->ns,
			pod->name, type, action ? action : "", number);
	return type != NULL;
}

/* matchPodFailurePolicy() of pkg/controller/job/pod_failure_policy.go */
enum pod_failure pod_failure_match(const struct jobs *j, const struct jobs_rjob *rjob,
				   const struct jobs_pod *pod, char **ret_message)
{
	static const struct {
		const char *action;
		enum pod_failure result;
	} actions[] = {
		{ "FailJob", FAILURE_FAIL_JOB },
		{ "FailIndex", FAILURE_FAIL_INDEX },
		{ "Ignore", FAILURE_IGNORE },
		{ "Count", FAILURE_COUNT },
	};
	const cJSON *rule;
	int number = -1;

	json_each(rule, json_get(rjob->failure_policy, "rules")) {
		const char *action = json_str(rule, "action");
		cleanup_free char *message = NULL;

		number++;
		if (!match_rule(j, pod, rule, number, &message))
			continue;
		for (size_t i = 0; i < N_ELEMENTS(actions); i++) {
			if (!str_eq(action, actions[i].action))
				continue;
			/* FailIndex without backoffLimitPerIndex: ignore the rule */
			if (actions[i].result == FAILURE_FAIL_INDEX &&
			    rjob->backoff_per_index < 0)
				break;
			if (actions[i].result == FAILURE_FAIL_JOB)
				*ret_message = STEAL(message);
			return actions[i].result;
		}
	}
	return FAILURE_COUNT;
}

/* Count the indexes "0,2-4" that exist, and those that succeeded. */
static void count_indexes(const struct jobs_job *job, const char *text, int *ret_all,
			  int *ret_done)
{
	const char *p = text;
	char *end;

	*ret_all = *ret_done = 0;
	while (*p) {
		long first = strtol(p, &end, 10), last = first;

		if (end == p)
			return;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (long i = first; i <= last && i >= 0 && i < job->rjob->completions;
		     i++) {
			*ret_all += 1;
			*ret_done += job->indexes[i].state == INDEX_SUCCEEDED;
		}
		if (*end != ',')
			return;
		p = end + 1;
	}
}

/* matchSuccessPolicy() of pkg/controller/job/success_policy.go */
int jobs_success_policy_match(const struct jobs_job *job)
{
	const cJSON *rule;
	int number = -1;

	if (!job->rjob->indexed || !job->succeeded)
		return -1;
	json_each(rule, json_get(job->rjob->success_policy, "rules")) {
		const char *which = json_str(rule, "succeededIndexes");
		int64_t count = json_int(rule, INT64_MAX, "succeededCount");
		int all = job->rjob->completions, done = (int)job->succeeded;

		number++;
		if (which) {
			count_indexes(job, which, &all, &done);
			if (all && (done == all || done >= count))
				return number;
		} else if (done >= count) {
			return number;
		}
	}
	return -1;
}
