/* supervision.c - the numbers of a job's supervisors (trainer/supervision.h). */
#include "trainer/supervision.h"

#include <stdlib.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

#define KEY    "supervision"
#define POD    "pod"
#define BEFORE "before"

static const int64_t most = 1000000000000;

const char *const supervision_slices[SUPERVISION_SLICES] = {
	[SUPERVISION_QUEUED] = "queued",         [SUPERVISION_STARTING] = "starting",
	[SUPERVISION_PRODUCTIVE] = "productive", [SUPERVISION_STALLED] = "stalled",
	[SUPERVISION_REPEATED] = "repeated",     [SUPERVISION_RESTARTING] = "restarting",
};

static cJSON *doc_of(const struct supervision *s)
{
	cJSON *doc = cJSON_CreateObject();

	json_put_int(doc, s->restarts, "restarts");
	json_put_int(doc, s->lost, "lost");
	json_put_int(doc, s->stalls, "stalls");
	if (s->failed) {
		json_put_int(doc, s->rank, "failed", "rank");
		json_put_int(doc, s->status, "failed", "status");
	}
	json_put_int(doc, s->since, "since");
	json_put_int(doc, s->at, "at");
	for (int i = 0; i < SUPERVISION_SLICES; i++)
		json_put_int(doc, s->seconds[i], "seconds", supervision_slices[i]);
	return doc;
}

void supervision_body(struct buf *out, const struct supervision *s)
{
	cleanup_json cJSON *body = cJSON_CreateObject();

	json_put(body, doc_of(s), KEY);
	json_print(out, body);
}

/* False: it is no number within the limits. */
static bool number(int64_t *ret, const cJSON *node)
{
	return json_int_of(node, ret) && *ret >= 0 && *ret <= most;
}

static bool read_doc(struct supervision *ret, const cJSON *doc)
{
	const cJSON *failed = json_get(doc, "failed");

	*ret = (struct supervision){ .failed = failed };
	if (!number(&ret->restarts, json_get(doc, "restarts")) ||
	    !number(&ret->lost, json_get(doc, "lost")) ||
	    !number(&ret->stalls, json_get(doc, "stalls")) ||
	    !number(&ret->since, json_get(doc, "since")) ||
	    !number(&ret->at, json_get(doc, "at")))
		return false;
	if (failed && (!number(&ret->rank, json_get(failed, "rank")) ||
		       !number(&ret->status, json_get(failed, "status"))))
		return false;
	for (int i = 0; i < SUPERVISION_SLICES; i++)
		if (!number(&ret->seconds[i],
			    json_get(doc, "seconds", supervision_slices[i])))
			return false;
	return true;
}

int supervision_read(struct supervision *ret, bool *ret_any, const cJSON *body,
		     struct error *err)
{
	const cJSON *doc = json_get(body, KEY);

	*ret_any = doc;
	if (doc && !read_doc(ret, doc))
		return error_set(err, ERR_INVALID,
				 KEY ": a number is missing or invalid");
	return 0;
}

/* Add what a pod reported to the sum of those before it. */
static void add(struct supervision *to, const struct supervision *s)
{
	bool failed = to->failed && !s->failed && !s->stalls;
	struct supervision sum = *s;

	sum.restarts += to->restarts;
	sum.lost += to->lost;
	sum.stalls += to->stalls;
	sum.since = to->since && to->since < s->since ? to->since : s->since;
	if (failed) {
		sum.failed = true;
		sum.rank = to->rank;
		sum.status = to->status;
	}
	for (int i = 0; i < SUPERVISION_SLICES; i++)
		sum.seconds[i] += to->seconds[i];
	*to = sum;
}

/* Was the job suspended, and resumed after `at`? Then no pod of it was lost since. */
static bool was_resumed(const cJSON *tj, int64_t at)
{
	const cJSON *c = status_condition(tj_status(tj), COND_SUSPENDED);
	const char *when = json_str(c, "lastTransitionTime");
	int64_t resumed;

	return str_eq(json_str(c, "status"), "False") && when &&
	       !time_parse(&resumed, when, IGNORED) && resumed >= at;
}

/*
 * The sum of what former pods reported. The loss of the last of them is a restart, too,
 * and the time that the job was suspended counts as queued.
 */
static struct supervision others(const cJSON *tj, const char *pod,
				 const struct supervision *all,
				 const struct supervision *s)
{
	const cJSON *old = json_get(tj_status(tj), KEY);
	struct supervision before = { 0 };
	bool resumed;

	if (str_eq(json_str(old, POD), pod)) {
		read_doc(&before, json_get(old, BEFORE));
		return before;
	}
	before = *all;
	resumed = was_resumed(tj, all->at);
	before.lost += !resumed;
	if (s->since > all->at)
		before.seconds[resumed ? SUPERVISION_QUEUED : SUPERVISION_RESTARTING] +=
			s->since - all->at;
	return before;
}

void supervision_merge(cJSON *to, const cJSON *tj, const char *pod,
		       const struct supervision *s, struct supervision *ret_before,
		       struct supervision *ret_all)
{
	const cJSON *old = json_get(tj, "status", KEY);
	struct supervision before = { 0 };
	int64_t created;
	cJSON *sum;

	*ret_before = before;
	if (read_doc(ret_before, old))
		before = others(tj, pod, ret_before, s);
	else
		*ret_before = before;
	*ret_all = before;
	add(ret_all, s);
	if (!before.since && meta_created(tj) &&
	    !time_parse(&created, meta_created(tj), IGNORED))
		ret_all->seconds[SUPERVISION_QUEUED] =
			ret_all->since > created ? ret_all->since - created : 0;
	sum = doc_of(ret_all);
	json_put_str(sum, pod, POD);
	if (before.since)
		json_put(sum, doc_of(&before), BEFORE);
	json_put(to, sum, "status", KEY);
}

int supervision_goodput(const struct supervision *s)
{
	int64_t all = 0;

	for (int i = 0; i < SUPERVISION_SLICES; i++)
		all += s->seconds[i];
	return all ? (int)(s->seconds[SUPERVISION_PRODUCTIVE] * 100 / all) : -1;
}

bool supervision_of(struct supervision *ret, const cJSON *tj)
{
	return read_doc(ret, json_get(tj, "status", KEY));
}
