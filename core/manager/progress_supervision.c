/* progress_supervision.c - restarts and stalls of a TrainJob (manager/progress_supervision.h). */
#include "manager/progress_supervision.h"

#include <inttypes.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "manager/names.h"
#include "trainer/api.h"

const struct metric supervision_total = {
	METRIC_COUNTER, "trainer_trainjob_supervision_total",
	"Total number of restarts in place, losses of pods and stalls of TrainJobs",
	.labels = { "event" }
};

static void record_event(const struct progress_watch *w, const cJSON *about,
			 const char *reason, const char *text)
{
	if (w->on_event)
		w->on_event(w->ctx, about, reason, text);
}

static const char *who_failed(struct arena *a, const struct supervision *s)
{
	return s->failed ? arena_printf(a,
					"rank %" PRId64
					" ended first, with status %" PRId64 ": ",
					s->rank, s->status)
			 : "";
}

/* Count the difference to the last report, and record an event for each number that grew. */
static void report_changes(const struct progress_watch *w, const cJSON *about,
			   const struct supervision *before,
			   const struct supervision *all)
{
	cleanup_arena struct arena a = { 0 };
	const struct {
		int64_t before, now;
		const char *reason, *label, *text;
	} list[] = {
		{ before->stalls, all->stalls, SUPERVISED_STALLED, "stall",
		  "no output and no progress of any rank: the log of rank 0 says where "
		  "they were" },
		{ before->restarts, all->restarts, SUPERVISED_RESTARTED, "restart",
		  arena_printf(&a,
			       "%sall ranks start again in their pods, restart %" PRId64,
			       who_failed(&a, all), all->restarts) },
		{ before->lost, all->lost, SUPERVISED_REJOINED, "lost",
		  "a pod was lost: all ranks start again, which does not count" },
	};

	for (size_t i = 0; i < N_ELEMENTS(list); i++) {
		if (list[i].now <= list[i].before)
			continue;
		metrics_add(w->metrics, &supervision_total,
			    (double)(list[i].now - list[i].before), list[i].label);
		record_event(w, about, list[i].reason, list[i].text);
	}
}

int progress_supervision(struct kube *kube, const struct progress_watch *watch,
			 const struct progress_claim *claim, const char *uid,
			 const struct supervision *report, struct error *err)
{
	const struct kube_ref ref = { TRAINER_API_VERSION, TRAINJOB_KIND, claim->ns,
				      claim->name };
	const struct kube_write how = { .manager = MANAGER_SUPERVISION,
					.subresource = "status",
					.force = true,
					.meta_only = true };
	cleanup_json cJSON *tj = NULL;
	cleanup_json cJSON *change =
		meta_new(ref.api_version, ref.kind, claim->ns, claim->name);
	struct supervision before, all;

	if (kube_get(kube, &ref, &tj, err))
		return -1;
	meta_set_uid(change, uid);
	supervision_merge(change, tj, claim->pod ? claim->pod : "", report, &before,
			  &all);
	if (kube_apply(kube, change, &how, NULL, err))
		return -1;
	json_del(change, JSON_PATH("status"));
	report_changes(watch, change, &before, &all);
	return 0;
}
