/* jobs_check.c - refuse what a cluster would refuse (jobs/jobs_impl.h). */
#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "jobs/jobs_impl.h"

/*
 * The rules of JobSet's admission (pkg/webhooks/jobset_webhook.go and the CRD) and of
 * Jobs (pkg/apis/batch/validation) on which the state machine relies. In a cluster, a Job
 * that the API server refuses would never start.
 */

static bool has_action(const cJSON *policy, const char *action)
{
	const cJSON *rule;

	json_each(rule, json_get(policy, "rules"))
		if (str_eq(json_str(rule, "action"), action))
			return true;
	return false;
}

static int check_job(const struct jobs_rjob *r, struct error *err)
{
	const char *restart =
		json_str(r->doc, "template", "spec", "template", "spec", "restartPolicy");
	bool never = str_eq(restart, "Never"), per_index = r->backoff_per_index >= 0;
	const struct {
		bool wrong;
		const char *what;
	} rules[] = {
		{ !never && !r->on_failure,
		  "restartPolicy: must be OnFailure or Never, as in every Job" },
		{ r->failure_policy && !never,
		  "restartPolicy: podFailurePolicy requires Never" },
		{ per_index && !never,
		  "restartPolicy: backoffLimitPerIndex requires Never" },
		{ per_index && !r->indexed,
		  "completionMode: backoffLimitPerIndex requires Indexed" },
		{ r->success_policy && !r->indexed,
		  "completionMode: successPolicy requires Indexed" },
		{ r->max_failed_indexes >= 0 && !per_index,
		  "backoffLimitPerIndex: required with maxFailedIndexes" },
		{ has_action(r->failure_policy, "FailIndex") && !per_index,
		  "backoffLimitPerIndex: required with the action FailIndex" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rules); i++)
		if (rules[i].wrong)
			return error_set(err, ERR_INVALID, "replicatedJob %s: %s",
					 r->name, rules[i].what);
	return 0;
}

static int check_dependencies(const struct jobs *j, size_t i, struct error *err)
{
	const struct jobs_rjob *r = &j->rjobs[i];
	const cJSON *dep;

	json_each(dep, r->depends_on) {
		const char *name = json_str(dep, "name");
		bool found = false;

		for (size_t k = 0; k < i; k++)
			found |= str_eq(j->rjobs[k].name, name);
		if (!found)
			return error_set(err, ERR_INVALID,
					 "replicatedJob: %s cannot depend on "
					 "replicatedJob: %s",
					 r->name, name ? name : "");
	}
	for (size_t k = 0; k < i; k++)
		if (str_eq(j->rjobs[k].name, r->name))
			return error_set(err, ERR_INVALID,
					 "duplicate replicatedJob name %s", r->name);
	return 0;
}

static int check_targets(const struct jobs *j, const cJSON *policy, const char *where,
			 struct error *err)
{
	const cJSON *name;

	json_each(name, json_get(policy, "targetReplicatedJobs")) {
		bool found = false;

		for (size_t i = 0; i < j->n_rjobs; i++)
			found |= str_eq(j->rjobs[i].name, cJSON_GetStringValue(name));
		if (!found)
			return error_set(err, ERR_INVALID,
					 "spec.%s: targetReplicatedJobs: replicatedJob "
					 "\"%s\" not found",
					 where,
					 cJSON_IsString(name) ? name->valuestring : "");
	}
	return 0;
}

/* After a backslash: what means the same in Go's syntax and here. */
static bool is_shared_escape(const char *p)
{
	if (*p == 'x')
		return isxdigit((unsigned char)p[1]) && isxdigit((unsigned char)p[2]);
	return strchr("abfnrtdDsSwWB", *p) ||
	       (ispunct((unsigned char)*p) && !strchr("<>", *p));
}

/* Returns the end of the bracket expression at p, or its first backslash. */
static const char *bracket_end(const char *p)
{
	p += p[1] == '^' ? 2 : 1;
	if (*p == ']')
		p++;
	for (; *p && *p != ']' && *p != '\\'; p++) {
		const char *end = p[0] == '[' && p[1] == ':' ? strstr(p, ":]") : NULL;

		if (end)
			p = end + 1;
	}
	return p;
}

/* Returns the first place that Go reads differently, or refuses; NULL: there is none. */
static const char *unshared_syntax(const char *p)
{
	bool repeated = false;

	for (; *p; p++) {
		bool repeats = strchr("*+?{", *p), escape = *p == '\\';

		if (repeats && repeated && (*p != '?' || !strchr("*?", p[-1])))
			return p - 1;
		if ((p[0] == '(' && p[1] == '?') || (escape && !is_shared_escape(p + 1)))
			return p;
		repeated = repeats;
		p = *p == '{'   ? p + strcspn(p, "}")
		    : *p == '[' ? bracket_end(p)
				: p + escape;
		if (!*p)
			return NULL;
		if (*p == '\\' && !escape)
			return p;
	}
	return NULL;
}

/* Refuses patterns that would match other messages here than in a cluster. */
static int check_patterns(const cJSON *rule, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *node;

	json_each(node, json_get(rule, "onJobFailureMessagePatterns")) {
		const char *pattern = cJSON_GetStringValue(node);
		const char *place = pattern ? unshared_syntax(pattern) : NULL;
		char why[100] = "not a string";
		regex_t re;
		int rc = pattern ? regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) : 0;

		if (pattern && !rc)
			regfree(&re);
		if (pattern && !rc && !place)
			continue;
		if (place)
			snprintf(why, sizeof(why),
				 "'%.*s' is not the same here and in a "
				 "cluster",
				 1 + (int)utf8_length(place + 1, place + strlen(place)),
				 place);
		else if (rc)
			regerror(rc, &re, why, sizeof(why));
		return error_set(err, ERR_INVALID,
				 "spec.failurePolicy.rules: onJobFailureMessagePatterns: "
				 "\"%s\": %s; use the syntax that POSIX extended and "
				 "Go regular expressions share",
				 pattern ? str_at_most(&arena, pattern, 100) : "", why);
	}
	return 0;
}

/* Checks the longest name of a pod: JobSet's GenPodName and five letters. */
static int check_names(const struct jobs *j, const struct jobs_rjob *r, struct error *err)
{
	cleanup_free char *tail = r->indexed ? jobs_printf("-%d", r->completions - 1)
					     : jobs_printf("%s", "");
	cleanup_free char *pod = jobs_printf("%s-%s-%d%s-abcde", j->name, r->name,
					     r->replicas ? r->replicas - 1 : 0,
					     r->completions ? tail : "");

	if (strlen(pod) > NAME_LABEL_MAX)
		return error_set(err, ERR_INVALID,
				 "name too long: pods of replicatedJob %s would have "
				 "names of %zu characters (at most %d)",
				 r->name, strlen(pod), NAME_LABEL_MAX);
	if (!name_is_dns1035(pod))
		return error_set(err, ERR_INVALID,
				 "invalid pod name \"%s\": use lowercase letters, digits "
				 "and '-', a letter first",
				 pod);
	return 0;
}

int jobs_check(const struct jobs *j, struct error *err)
{
	const cJSON *spec = json_get((const cJSON *)j->jobset, "spec"), *rule;
	bool depends = false;

	if (name_label_invalid(j->ns) || name_label_invalid(j->subdomain))
		return error_set(
			err, ERR_INVALID,
			"namespace \"%s\" and subdomain \"%s\" must be DNS labels", j->ns,
			j->subdomain);
	for (size_t i = 0; i < j->n_rjobs; i++) {
		if (check_names(j, &j->rjobs[i], err) || check_dependencies(j, i, err) ||
		    check_job(&j->rjobs[i], err))
			return -1;
		depends |= cJSON_GetArraySize(j->rjobs[i].depends_on) > 0;
	}
	if (depends &&
	    str_eq(json_str(spec, "startupPolicy", "startupPolicyOrder"), "InOrder"))
		return error_set(
			err, ERR_INVALID,
			"spec: startupPolicy InOrder and dependsOn cannot be used "
			"together");
	if (check_targets(j, json_get(spec, "successPolicy"), "successPolicy", err))
		return -1;
	json_each(rule, json_get(spec, "failurePolicy", "rules"))
		if (check_targets(j, rule, "failurePolicy.rules", err) ||
		    check_patterns(rule, err))
			return -1;
	return 0;
}
