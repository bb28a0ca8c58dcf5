/* goal.c - parse a goal, and judge whether a job has reached it (client/goal.h). */
#include "client/goal.h"

#include <string.h>

#include "base/str.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

static const char *const goals[N_GOALS] = { "complete", "failed",    "finished",
					    "running",  "suspended", "deleted" };

int goal_read(struct goal *ret, struct arena *arena, const char *text, struct error *err)
{
	const char *condition = text ? str_after(text, "condition=") : NULL;
	char *type, *equals;

	*ret = (struct goal){ .kind = GOAL_COMPLETE };
	if (!text)
		return 0;
	for (int i = 0; i < N_GOALS; i++) {
		if (strcasecmp(text, goals[i]) != 0 &&
		    !(i == GOAL_DELETED && !strcasecmp(text, "delete")))
			continue;
		ret->kind = (enum goal_kind)i;
		return 0;
	}
	if (!condition || !*condition)
		return error_set(err, ERR_USAGE,
				 "--for %s: want complete, failed, finished, running, "
				 "suspended, deleted or condition=TYPE",
				 text);
	type = arena_strdup(arena, condition);
	equals = strchr(type, '=');
	if (equals)
		*equals++ = 0;
	*ret = (struct goal){ GOAL_CONDITION, type, equals ? equals : "True" };
	return 0;
}

static enum goal_verdict verdict_of(bool reached, bool over)
{
	if (reached)
		return GOAL_REACHED;
	return over ? GOAL_MISSED : GOAL_PENDING;
}

/* As `kubectl wait` compares them: without regard to case. */
static bool has_condition(const struct goal *goal, const cJSON *status)
{
	const cJSON *c;

	json_each(c, json_get(status, "conditions")) {
		const char *type = json_str(c, "type"), *is = json_str(c, "status");

		if (type && is && !strcasecmp(type, goal->type) &&
		    !strcasecmp(is, goal->status))
			return true;
	}
	return false;
}

enum goal_verdict goal_judge(const struct goal *goal, const cJSON *job)
{
	const cJSON *status = tj_status(job);
	bool over = !job || status_finished(status);
	bool failed = status_is_true(status, COND_FAILED);

	switch (goal->kind) {
	case GOAL_COMPLETE:
		return verdict_of(job && over && !failed, over);
	case GOAL_FAILED:
		return verdict_of(failed, over);
	case GOAL_FINISHED:
		return verdict_of(job && over, over);
	case GOAL_RUNNING:
		return verdict_of(job && str_eq(status_state(status), "Running"), over);
	case GOAL_SUSPENDED:
		return verdict_of(job && str_eq(status_state(status), "Suspended"), over);
	case GOAL_DELETED:
		return verdict_of(!job, false);
	default:
		return verdict_of(has_condition(goal, status), over);
	}
}
