/* deletion.c - count a job's pods, wait for a deletion (client/deletion.h). */
#include "client/deletion.h"

#include "api/meta.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "client/changes.h"
#include "client/jobs.h"
#include "trainer/podcause.h"

static int count_one(void *ctx, cJSON *take_obj, struct error *err)
{
	int64_t *n = ctx;

	cJSON_Delete(take_obj);
	++*n;
	return 0;
}

static void count_again(void *ctx)
{
	*(int64_t *)ctx = 0;
}

int64_t deletion_pods(struct kube *k, const char *ns, const char *name)
{
	const struct kube_ref pods = { "v1", "Pod", ns, NULL };
	cleanup_arena struct arena arena = { 0 };
	const struct kube_select select = {
		.label_selector = arena_printf(&arena, POD_JOBSET_LABEL "=%s", name),
		.meta_only = true,
	};
	int64_t n = 0;
	const struct kube_sink sink = { .on_item = count_one,
					.ctx = &n,
					.on_restart = count_again };

	return kube_list(k, &pods, &select, &sink, NULL, IGNORED) ? -1 : n;
}

int deletion_start(struct kube *k, const cJSON *job, bool foreground, struct error *err)
{
	const struct kube_ref ref = job_ref(meta_namespace(job), meta_name(job));

	if (kube_delete(k, &ref, foreground ? "Foreground" : "Background", meta_uid(job),
			err)) {
		if (err->kind != ERR_NOT_FOUND)
			return -1;
		*err = (struct error){ 0 }; /* another client deleted it */
	}
	return 0;
}

int deletion_wait(struct kube *k, const cJSON *obj, int64_t until, struct error *err)
{
	const struct kube_ref ref = kube_ref_of(obj);
	cleanup_changes struct changes *c = NULL;
	bool there = false;

	if (changes_new(&c, k, NULL, NULL, err) ||
	    changes_watch(c, &ref, NULL, NULL, err))
		return -1;
	for (;;) {
		cleanup_change struct change change = { 0 };
		int64_t left = until < 0 ? -1 : until - clock_ms();
		int rc =
			until >= 0 && left <= 0 ? 0 : changes_next(c, left, &change, err);

		if (rc <= 0)
			return rc;
		/* Another uid: the object is gone, and a new one has its name. */
		if (change.kind == CHANGE_ADDED || change.kind == CHANGE_MODIFIED)
			there = str_eq(meta_uid(change.obj), meta_uid(obj));
		else if (change.kind == CHANGE_DELETED)
			there = false;
		else if (change.kind != CHANGE_SYNCED)
			continue;
		if (!there)
			return 1;
	}
}
