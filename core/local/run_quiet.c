/* run_quiet.c - report why a job prints nothing for a long time (local/run_impl.h). */
#include "base/cleanup.h"
#include "base/clock.h"
#include "kubelet/compiling.h"
#include "local/run_impl.h"

enum { QUIET_MS = 20000, QUIET_MOST_MS = 600000 };

static bool runs_any(const struct run *r)
{
	map_each(e, &r->pods) {
		const struct run_pod *pod = e->value;

		if (pod->running && !pod->ended)
			return true;
	}
	return false;
}

void run_activity(struct run *r, int64_t now_ms)
{
	r->activity_ms = now_ms;
	r->silent_check_ms = now_ms + QUIET_MS;
}

void run_check_quiet(struct run *r)
{
	cleanup_arena struct arena a = { 0 };
	int64_t now = clock_ms(), quiet = now - r->activity_ms;
	const struct run_pod *pod;
	const char *name, *file;
	char age[DURATION_TEXT_SIZE];

	if (r->silent_check_ms < 0 || now < r->silent_check_ms)
		return;
	r->silent_check_ms = -1; /* until a pod starts, or writes */
	if (r->end != RUN_ACTIVE || !runs_any(r))
		return;
	r->silent_check_ms = now + (quiet < QUIET_MOST_MS ? quiet : QUIET_MOST_MS);
	name = kubelet_compiling(r->kubelet, &a, &file);
	pod = name ? map_get(&r->pods, name) : NULL;
	if (pod)
		run_note(r,
			 "%s is compiling (%s) and has printed nothing for %s; what it "
			 "compiles is kept for the next run",
			 podname_prefix(&a, &pod->podname, NULL), file,
			 duration_age(quiet / 1000, age));
}
