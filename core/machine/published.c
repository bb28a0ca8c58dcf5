/* published.c - read and correct the published objects of runs (machine/published.h). */
#include "machine/published.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "local/state_impl.h"
#include "trainer/api.h"

const struct published published[] = { { "Pod", "v1" },
				       { "Job", "batch/v1" },
				       { JOBSET_KIND, JOBSET_API_VERSION },
				       { "Event", "v1" },
				       { NULL, NULL } };

const struct published *published_kind(struct arena *a, const char *file,
				       const char **ret_name)
{
	const size_t others = strlen("..json"); /* than the kind and the name */

	for (const struct published *p = published; p->kind; p++) {
		const char *rest = str_after(file, p->kind);

		if (!rest || *rest != '.' || strlen(rest) <= others ||
		    !str_ends(rest, ".json"))
			continue;
		*ret_name = str_slice(a, rest + 1, strlen(rest) - others);
		return p;
	}
	return NULL;
}

cJSON *published_read(const char *path)
{
	cleanup_buf struct buf text = { .max = JSON_MAX_BYTES };
	cJSON *doc = NULL;

	if (state_read_file(&text, path, IGNORED) ||
	    json_parse(&doc, text.data, text.len, IGNORED))
		return NULL;
	return doc;
}

/* ---- states that no run publishes ------------------------------------------------ */

static void kill_container(cJSON *status, const char *now)
{
	cJSON *state = json_get(status, "state"), *ended;
	const char *started = json_str(state, "running", "startedAt");

	if (json_get(state, "terminated"))
		return;
	ended = cJSON_CreateObject();
	json_put_int(ended, 128 + 9, "exitCode");
	json_put_str(ended, "Error", "reason");
	json_put_str(ended, started ? started : now, "startedAt");
	json_put_str(ended, now, "finishedAt");
	json_del(state, JSON_PATH("running"));
	json_del(state, JSON_PATH("waiting"));
	json_put(state, ended, "terminated");
	json_put_bool(status, false, "ready");
	json_put_bool(status, false, "started");
}

static void put_condition(cJSON *status, const char *type, const char *reason,
			  const char *message, const char *now)
{
	cJSON *c = cJSON_CreateObject();

	json_put_str(c, type, "type");
	json_put_str(c, "True", "status");
	json_put_str(c, reason, "reason");
	json_put_str(c, message, "message");
	json_put_str(c, now, "lastTransitionTime");
	json_upsert(json_list(status, "conditions"), "type", c);
}

bool published_kill(cJSON *pod, const char *reason, const char *message, const char *now)
{
	cJSON *status = json_obj(pod, "status"), *c;
	const char *phase = json_str(status, "phase");

	if (str_eq(phase, "Succeeded") || str_eq(phase, "Failed"))
		return false;
	json_put_str(status, "Failed", "phase");
	put_condition(status, "DisruptionTarget", reason, message, now);
	json_each(c, json_get(status, "containerStatuses"))
		kill_container(c, now);
	c = json_find(json_get(status, "conditions"), "type", "Ready");
	if (c)
		json_put_str(c, "False", "status");
	return true;
}

bool published_end_job(cJSON *job, const char *type, const char *reason,
		       const char *message, const char *now)
{
	cJSON *status = json_obj(job, "status");
	const cJSON *all = json_get(status, "conditions");

	if (json_find_const(all, "type", COND_COMPLETE) ||
	    json_find_const(all, "type", COND_FAILED))
		return false;
	put_condition(status, type, reason, message, now);
	json_del(status, JSON_PATH("active"));
	json_put_int(status, 0, "ready");
	json_put_int(status, 0, "terminating");
	return true;
}

void published_fail(cJSON *status, const char *reason, const char *message,
		    const char *now)
{
	cJSON *rjob;

	put_condition(status, "Failed", reason, message, now);
	json_put_str(status, "Failed", "terminalState");
	json_each(rjob, json_get(status, "replicatedJobsStatus")) {
		json_put_int(rjob, 0, "ready");
		json_put_int(rjob, 0, "active");
	}
}
