/* reconcile_runtime.c - the runtime of a TrainJob, and its snapshot (manager/reconcile_impl.h). */
#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "manager/names.h"
#include "manager/reconcile_impl.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

/* The runtime as it is now. cached: from the watch, if that has it. */
static int live_runtime(struct pass *p, bool cached, cJSON **ret, struct error *err)
{
	struct runtime_ref want = tj_runtime_ref(p->tj);
	const struct kube_ref ref = { TRAINER_API_VERSION, want.kind,
				      runtime_ref_is_cluster(&want) ? NULL : p->ns,
				      want.name };

	if (runtimes_get(cached ? p->r->conf.runtimes : NULL, p->r->conf.kube, &ref, ret,
			 err))
		return error_wrap(err, "the runtime of the TrainJob");
	return 0;
}

/*
 * A user who may write ConfigMaps must not thereby choose what a TrainJob runs. So a
 * snapshot is used only if this process knows its digest, if it equals that of the live
 * runtime, if the JobSet was built from it, that is, a dry run of the apply changes
 * nothing of the JobSet but spec.suspend, or if an annotation of the JobSet has its
 * digest: it was made later, of a runtime that gives another JobSet.
 */
#define SNAPSHOT_ANNOTATION "kftrainer.io/runtime-snapshot"

static void snapshot_digest(const cJSON *map, char ret[DIGEST_HEX_SIZE])
{
	snapshots_digest(snapshot_text(map), ret);
}

static int snapshot_changed(const cJSON *map, struct error *err)
{
	return error_set(err, ERR_INVALID,
			 "invalid runtime snapshot: ConfigMap %s was changed after the "
			 "JobSet was built from it; delete it to use the current runtime",
			 meta_name(map));
}

static int read_known(struct pass *p, const cJSON *existing, cJSON **ret,
		      struct error *err)
{
	const char *known = p->memory->written.snapshot;
	char digest[DIGEST_HEX_SIZE];

	snapshot_digest(existing, digest);
	if (*known && !str_eq(known, digest))
		return snapshot_changed(existing, err);
	return snapshot_read(ret, p->tj, existing, err);
}

/* Writes the snapshot of `runtime`, unless `existing` is equal. *ret is the runtime. */
static int make_snapshot(struct pass *p, const cJSON *runtime, const cJSON *existing,
			 cJSON **ret, struct error *err)
{
	cleanup_json cJSON *map = NULL;

	if (snapshots_make(&p->r->snapshots, &map, p->tj, runtime, err))
		return -1;
	/* Until the answer to the write, either may be stored. */
	*p->memory->written.snapshot = 0;
	if (!(existing && str_eq(snapshot_text(existing), snapshot_text(map))) &&
	    objects_apply(p, map, existing, NULL, err))
		return error_wrap(err, "runtime snapshot");
	snapshot_digest(map, p->memory->written.snapshot);
	*ret = json_dup(runtime);
	return 0;
}

/* Reads a snapshot whose digest this process does not know, though a JobSet exists. */
static int read_unknown(struct pass *p, const cJSON *existing, cJSON **ret,
			struct error *err)
{
	cleanup_json cJSON *runtime = NULL;
	cleanup_json cJSON *map = NULL;
	char digest[DIGEST_HEX_SIZE];

	if (live_runtime(p, true, &runtime, err)) {
		if (error_clear_if(err, ERR_NOT_FOUND))
			return -1;
	} else if (snapshots_make(&p->r->snapshots, &map, p->tj, runtime, err)) {
		return -1;
	}
	snapshot_digest(existing, digest);
	if ((map && str_eq(snapshot_text(existing), snapshot_text(map))) ||
	    str_eq(meta_annotation(p->jobset.own, SNAPSHOT_ANNOTATION), digest))
		memcpy(p->memory->written.snapshot, digest, sizeof(digest));
	else
		p->objects.unknown_snapshot = existing;
	return snapshot_read(ret, p->tj, existing, err);
}

/*
 * The snapshot of a running JobSet was deleted. *ret: its runtime, if the cache has the
 * snapshot, which is then written again; else NULL.
 */
static int restore_snapshot(struct pass *p, cJSON **ret, struct error *err)
{
	cleanup_json cJSON *map =
		snapshots_of_digest(&p->r->snapshots, p->tj, p->memory->written.snapshot);

	if (!map || jobset_suspended(p->jobset.own))
		return 0;
	if (snapshot_read(ret, p->tj, map, err))
		return -1;
	if (!objects_apply(p, map, NULL, NULL, err))
		return 0;
	cJSON_Delete(*ret);
	*ret = NULL;
	return error_wrap(err, "runtime snapshot");
}

/* The same, but without the snapshot in the cache, *ret is the live runtime. */
static int replace_snapshot(struct pass *p, cJSON **ret, struct error *err)
{
	if (restore_snapshot(p, ret, err))
		return -1;
	if (*ret)
		return 0;
	if (live_runtime(p, false, ret, err))
		return -1;
	return snapshots_make(&p->r->snapshots, &p->objects.lost_snapshot, p->tj, *ret,
			      err);
}

/* A snapshot from which no JobSet was built is used only if the runtime was deleted. */
int objects_load_runtime(struct pass *p, cJSON **ret, struct error *err)
{
	struct kube_ref ref = { "v1", "ConfigMap", p->ns,
				snapshot_name(&p->arena, p->tj) };
	cleanup_json cJSON *runtime = NULL;
	const cJSON *existing;

	if (objects_fetch_own(p, &ref, &existing, err))
		return error_wrap(err, "runtime snapshot");
	if (existing && p->r->conf.local)
		return snapshot_read(ret, p->tj, existing, err);
	if (existing && *p->memory->written.snapshot)
		return read_known(p, existing, ret, err);
	if (existing && p->jobset.own)
		return read_unknown(p, existing, ret, err);
	if (p->jobset.own && !p->r->conf.local)
		return replace_snapshot(p, ret, err);
	if (live_runtime(p, p->objects.create_only, &runtime, err)) {
		if (!existing || error_clear_if(err, ERR_NOT_FOUND))
			return -1;
		return snapshot_read(ret, p->tj, existing, err);
	}
	return make_snapshot(p, runtime, existing, ret, err);
}

/* Upstream also sends empty maps, as `resources: {}`. */
static void drop_empty_maps(cJSON *node)
{
	cJSON *child = node ? node->child : NULL, *next;

	for (; child; child = next) {
		next = child->next;
		drop_empty_maps(child);
		if (child->string && cJSON_IsObject(child) && !child->child)
			cJSON_Delete(cJSON_DetachItemViaPointer(node, child));
	}
}

/* Remove the fields that Kueue sets each time it admits a job. */
static void drop_placement(cJSON *jobset)
{
	cJSON *job;

	json_each(job, json_get(jobset, "spec", "replicatedJobs")) {
		cJSON *pod = json_get(job, "template", "spec", "template");

		json_del(pod, JSON_PATH("metadata"));
		json_del(pod, JSON_PATH("spec", "nodeSelector"));
		json_del(pod, JSON_PATH("spec", "tolerations"));
		json_del(pod, JSON_PATH("spec", "schedulingGates"));
	}
}

/*
 * *ret: an apply of `obj` would change nothing in the spec of the live JobSet but suspend
 * and, while that is suspended, the placement of its pods. A dry run, which API servers
 * also refuse for a change of an immutable field.
 */
static int is_built_as(struct pass *p, const cJSON *obj, bool *ret, struct error *err)
{
	const struct kube_write how = { .manager = MANAGER_FIELD_OWNER,
					.force = true,
					.dry_run = true };
	cleanup_json cJSON *copy = json_dup(obj);
	cleanup_json cJSON *now = NULL, *then = NULL;
	struct kube_ref ref = kube_ref_of(obj);

	if (kube_get(p->r->conf.kube, &ref, &now, err)) {
		if (err->kind == ERR_NOT_FOUND)
			err->kind = ERR_CONFLICT; /* the watch lags */
		return -1;
	}
	json_put_bool(copy, jobset_suspended(now), "spec", "suspend");
	pass_write_precondition(copy, now);
	if (kube_apply(p->r->conf.kube, copy, &how, &then, err)) {
		*ret = false;
		return error_clear_if(err, ERR_INVALID);
	}
	if (jobset_suspended(now)) {
		drop_placement(now);
		drop_placement(then);
	}
	json_del(now, JSON_PATH("spec", "suspend"));
	json_del(then, JSON_PATH("spec", "suspend"));
	drop_empty_maps(now);
	drop_empty_maps(then);
	*ret = json_equal(json_get(now, "spec"), json_get(then, "spec"));
	return 0;
}

int objects_check_snapshot(struct pass *p, const cJSON *obj, struct error *err)
{
	const cJSON *snapshot = p->objects.unknown_snapshot;
	bool same;

	if (is_built_as(p, obj, &same, err))
		return -1;
	if (!same)
		return snapshot_changed(snapshot, err);
	snapshots_hold(&p->r->snapshots, snapshot_text(snapshot),
		       p->memory->written.snapshot);
	return 0;
}

/* ---- a snapshot that was lost ---- */

/* *ret: the JobSet that the runtime gives now; in `objects`. */
static int build_jobset(struct pass *p, const struct pipeline *pipeline,
			const cJSON *runtime, cJSON **ret_objects, const cJSON **ret,
			struct error *err)
{
	cleanup_json cJSON *tj = json_dup(p->tj);
	const cJSON *obj;

	json_put_bool(tj, true, "spec", "suspend"); /* a JobSet that runs is not built */
	if (pipeline_build(pipeline, tj, runtime, ret_objects, err))
		return -1;
	json_each(obj, *ret_objects)
		if (str_eq(meta_kind(obj), JOBSET_KIND))
			*ret = obj;
	return 0;
}

int objects_make_lost_snapshot(struct pass *p, const struct pipeline *pipeline,
			       const cJSON *runtime, struct error *err)
{
	cleanup_json cJSON *objects = NULL;
	cleanup_json cJSON *map = p->objects.lost_snapshot;
	char digest[DIGEST_HEX_SIZE];
	const cJSON *jobset = NULL;
	bool same = false;

	p->objects.lost_snapshot = NULL;
	snapshot_digest(map, digest);
	if (build_jobset(p, pipeline, runtime, &objects, &jobset, err) ||
	    (jobset && is_built_as(p, jobset, &same, err)))
		return -1;
	if (!same) {
		cleanup_json cJSON *patch = cJSON_CreateObject();

		json_put_str(patch, digest, "metadata", "annotations",
			     SNAPSHOT_ANNOTATION);
		if (objects_patch_jobset(p, patch, jobset_suspended(p->jobset.own), err))
			return -1;
	}
	*p->memory->written.snapshot = 0;
	if (objects_apply(p, map, NULL, NULL, err))
		return error_wrap(err, "runtime snapshot");
	memcpy(p->memory->written.snapshot, digest, sizeof(digest));
	if (!same && !jobset_suspended(p->jobset.own))
		pass_event(
			p, false, "RuntimeChanged",
			"the JobSet is not of the current runtime, and the snapshot of "
			"its own was lost: it is recreated when the job is suspended");
	return 0;
}

void objects_know_policy(struct pass *p, const cJSON *runtime)
{
	p->memory->policy = runtime_run_policy(runtime);
	p->memory->policy_known = true;
}

int objects_read_policy(struct pass *p, struct error *err)
{
	struct kube_ref ref = { "v1", "ConfigMap", p->ns,
				snapshot_name(&p->arena, p->tj) };
	cleanup_json cJSON *runtime = NULL;
	const cJSON *existing;

	if (objects_fetch_given(p, &ref, &existing, err) ||
	    (existing ? read_known(p, existing, &runtime, err)
		      : live_runtime(p, true, &runtime, err)))
		return -1;
	objects_know_policy(p, runtime);
	return 0;
}
