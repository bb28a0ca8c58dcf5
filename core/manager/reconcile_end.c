/* reconcile_end.c - deadline and time to live of a TrainJob (manager/reconcile_impl.h). */
#include <inttypes.h>

#include "api/meta.h"
#include "base/log.h"
#include "manager/reconcile_impl.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

/*
 * MultiKueue's label of a TrainJob in a worker cluster. Kueue copies its end to the manager's
 * cluster, then deletes it. One that is gone before is dispatched again (kueue#14734).
 */
#define MULTIKUEUE_ORIGIN "kueue.x-k8s.io/multikueue-origin"

enum {
	DEADLINE_CHECK_MS = 300000, /* at most: the wall clock may be set */
	TTL_CHECK_MS = 600000,      /* the same; many finished jobs wait at a time */
	CONFLICT_MS = 200,
};
#define MAX_SECONDS (INT64_C(1) << 40) /* a time to live or deadline that never ends */

/* ---- clocks ---- */

/*
 * Seconds since 1970 by the slowest of the clocks that we have: the wall clock; the same
 * when `begin` was first seen, and the time since; the API server's. So no clock that is
 * set forward ends or deletes anything early.
 */
static int64_t earliest_now(struct pass *p, struct time_seen *seen, int64_t begin)
{
	int64_t now = clock_now(), up = clock_up_ms(), since, server;

	if (!seen->up_ms || seen->now < begin)
		*seen = (struct time_seen){ now, up };
	since = seen->now + (up - seen->up_ms) / 1000;
	server = kube_server_time(p->r->conf.kube);
	now = since < now ? since : now;
	return server && server < now ? server : now;
}

/* Learn the API server's clock, from any answer, if none has come yet. */
static int learn_server_time(struct pass *p, struct error *err)
{
	struct kube *k = p->r->conf.kube;

	return kube_is_inside(k) || kube_server_time(k) ? 0
							: pass_check_alive(p, NULL, err);
}

/*
 * Seconds left of `seconds` since `begin`. They are over only by all clocks. ERR_CONFLICT:
 * the TrainJob has been deleted.
 */
static int time_left(struct pass *p, struct time_seen *seen, int64_t begin,
		     int64_t seconds, int64_t *ret, struct error *err)
{
	if (seconds > MAX_SECONDS)
		seconds = MAX_SECONDS;
	*ret = begin + seconds - earliest_now(p, seen, begin);
	if (*ret > 0)
		return 0;
	if (learn_server_time(p, err))
		return -1;
	*ret = begin + seconds - earliest_now(p, seen, begin);
	return 0;
}

/* ---- the deadline ---- */

/* The deadline starts over each time the job is resumed: once the status says so. */
int end_check_deadline(struct pass *p, cJSON *status, struct error *err)
{
	int64_t seconds = tj_active_deadline(p->tj), start, left;
	const char *text = status_deadline_start(p->tj);

	if (seconds == ABSENT && p->memory->policy_known)
		seconds = p->memory->policy.deadline;
	if (seconds <= 0 || status_finished(status) || tj_suspend(p->tj) ||
	    status_is_true(status, COND_SUSPENDED) || !text ||
	    time_parse(&start, text, IGNORED))
		return 0;
	if (time_left(p, &p->memory->start_seen, start, seconds, &left, err))
		return error_clear_if(err, ERR_CONFLICT);
	if (left <= 0) {
		status_exceed_deadline(status, p->status.now);
		return 0;
	}
	left = clock_seconds_ms(left);
	pass_requeue_after(p, left < DEADLINE_CHECK_MS ? left : DEADLINE_CHECK_MS);
	return 0;
}

/* ---- times in the status ---- */

/* Restarts of an unknown time, before this process: not of this startTime if we wrote it. */
static int64_t known_restarts(const struct pass *p)
{
	const cJSON *before = p->status.before;

	if (p->memory->restarts_known)
		return p->memory->restarts;
	if (json_str(before, "startTime") && !json_str(before, "state"))
		return jobset_restarts(p->jobset.own);
	return status_restarts(before);
}

/* Reads the runtime's TTL, if it decides. -1: it may be readable later. */
static int read_ttl(struct pass *p, struct error *err)
{
	struct error why = { 0 };

	if (p->memory->policy_known || tj_ttl(p->tj) != ABSENT ||
	    tj_check_runtime_ref(p->tj, IGNORED) || !objects_read_policy(p, &why))
		return 0;
	if (pass_no_answer(&why)) {
		*err = why;
		return -1;
	}
	log_warn("the runtime's runPolicy is not known", LOG_STR("key", p->key),
		 LOG_ERR(&why));
	return 0;
}

/*
 * The runtime's TTL stays in the status when the job ends: of 10,000 finished jobs no
 * runtime is read when the controller starts. A status without a state is another
 * controller's.
 */
static int keep_ttl(struct pass *p, cJSON *status, struct error *err)
{
	const cJSON *before = p->status.before;

	if (!status_finished(status) || pass_crd_lacks(&p->r->times_lack_until) ||
	    (status_finished(before) && json_str(before, "state")))
		return 0;
	if (read_ttl(p, err))
		return -1;
	if (p->memory->policy_known)
		status_set_ttl(status, p->memory->policy.ttl);
	return 0;
}

int end_set_times(struct pass *p, cJSON *status, struct error *err)
{
	const struct status_run run = {
		.before = p->status.before,
		.jobset = p->jobset.own,
		.anew = p->jobset.made && json_str(p->status.before, "startTime"),
		.restarts = known_restarts(p),
	};

	if (pass_crd_lacks(&p->r->times_lack_until))
		return 0;
	status_set_times(status, p->tj, &run, p->status.now);
	return keep_ttl(p, status, err);
}

void end_was_written(struct pass *p)
{
	if (!p->jobset.own)
		return;
	p->memory->restarts = jobset_restarts(p->jobset.own);
	p->memory->restarts_known = true;
}

/* ---- the time to live ---- */

/* The TrainJob's own, else its runtime's; ABSENT: it stays. */
static int64_t ttl_of(const struct pass *p)
{
	int64_t ttl = tj_ttl(p->tj);

	if (ttl == ABSENT && p->memory->policy_known)
		ttl = p->memory->policy.ttl;
	else if (ttl == ABSENT)
		ttl = status_ttl(tj_status(p->tj));
	return ttl < 0 ? ABSENT : ttl;
}

static int delete_trainjob(struct pass *p, int64_t ttl, struct error *err)
{
	uint64_t version = p->memory->written.trainjob_version;

	if (p->memory->expired) /* the watch lags */
		return 0;
	if (version > meta_version_number(p->tj))
		meta_set_version(p->tj, arena_printf(&p->arena, "%" PRIu64, version));
	if (kube_delete_read(p->r->conf.kube, p->tj, "Foreground", err)) {
		if (err->kind == ERR_CONFLICT)
			pass_requeue_after(p, CONFLICT_MS); /* changed meanwhile */
		if (err->kind == ERR_CONFLICT || err->kind == ERR_NOT_FOUND) {
			*err = (struct error){ 0 };
			return 0;
		}
		if (err->kind == ERR_DENIED || err->kind == ERR_INVALID)
			pass_event(p, true, "DeletionFailed",
				   arena_printf(&p->arena,
						"ttlSecondsAfterFinished: %.900s",
						err->msg));
		return -1;
	}
	p->memory->expired = true;
	pass_event(p, false, "Expired",
		   arena_printf(&p->arena,
				"deleted %" PRId64 " s after its end "
				"(ttlSecondsAfterFinished)",
				ttl));
	return 0;
}

int end_expire(struct pass *p, struct error *err)
{
	const cJSON *status = tj_status(p->tj);
	const char *text = status_end_time(status);
	int64_t ttl = ttl_of(p), end, left;

	if (p->r->conf.keep_finished || ttl == ABSENT || !text ||
	    meta_label(p->tj, MULTIKUEUE_ORIGIN) || time_parse(&end, text, IGNORED))
		return 0;
	if (time_left(p, &p->memory->end_seen, end, ttl, &left, err))
		return error_clear_if(err, ERR_CONFLICT);
	if (left <= 0)
		return delete_trainjob(p, ttl, err);
	left = clock_seconds_ms(left);
	pass_requeue_after(p, left < TTL_CHECK_MS ? left : TTL_CHECK_MS);
	return 0;
}

int end_expire_managed(struct pass *p, struct error *err)
{
	return read_ttl(p, err) ? -1 : end_expire(p, err);
}
