/* alone.c - learn that a job's processes each train alone (client/alone.h). */
#include "client/alone.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/progress.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "why/foreign.h"

enum { EVENTS_MS = 5000 };

struct found {
	struct alone *alone;
	int64_t since; /* of the TrainJob: older events are of another one of its name */
};

static int on_event(void *ctx, cJSON *take_obj, struct error *err)
{
	struct found *f = ctx;
	cleanup_json cJSON *event = take_obj;

	if (event_last(event) >= f->since)
		alone_set(f->alone, event_message(event));
	return 0;
}

bool alone_watch_job(struct alone_watch *w, struct kube *k, const cJSON *tj)
{
	bool over = status_finished(tj_status(tj));
	const struct kube_ref events = { "v1", "Event", meta_namespace(tj), NULL };
	struct found found = { &w->alone, foreign_time(meta_created(tj)) };
	const struct kube_sink sink = { .on_item = on_event, .ctx = &found };
	cleanup_arena struct arena arena = { 0 };
	const struct kube_select select = {
		.field_selector =
			arena_printf(&arena,
				     "involvedObject.kind=" TRAINJOB_KIND
				     ",involvedObject.name=%s,reason=" ALONE_REASON,
				     meta_name(tj)),
	};

	if (w->alone.text[0] ||
	    (!over && (!progress_updated(tj) || clock_ms() < w->due_ms)))
		return false;
	w->due_ms = clock_ms() + EVENTS_MS;
	(void)!kube_list(k, &events, &select, &sink, NULL, IGNORED);
	return w->alone.text[0];
}
