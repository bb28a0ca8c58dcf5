/* reconcile_objects.c - build and write the objects (manager/reconcile_impl.h). */
#include "api/meta.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/keypair.h"
#include "manager/names.h"
#include "manager/reconcile_impl.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/pipeline.h"
#include "trainer/runtime.h"
#include "trainer/scheduling.h"
#include "trainer/trainjob.h"

/*
 * A resourceVersion that no object has: an apply with it creates the object, or fails
 * with 409 if the object exists.
 */
#define VERSION_OF_NONE "1"

/* ---- the owner of an object ---- */

static int not_controlled(const char *kind, const char *name, const char *tj,
			  struct error *err)
{
	return error_set(err, ERR_EXISTS,
			 "%s %s exists and is not controlled by TrainJob %s; delete it, "
			 "or choose another name",
			 kind, name, tj);
}

int pass_check_owner(const cJSON *obj, const cJSON *tj, struct error *err)
{
	const cJSON *owner = meta_controller(obj);

	if (meta_is_controlled(obj, tj))
		return 0;
	if (meta_is_deleted(obj) || (str_eq(meta_kind(owner), TRAINJOB_KIND) &&
				     str_eq(meta_owner_name(owner), meta_name(tj))))
		return error_set(err, ERR_CONFLICT,
				 "%s %s of a deleted TrainJob still exists",
				 meta_kind(obj), meta_name(obj));
	return not_controlled(meta_kind(obj), meta_name(obj), meta_name(tj), err);
}

void pass_write_precondition(cJSON *obj, const cJSON *existing)
{
	if (existing)
		meta_set_uid(obj, meta_uid(existing));
	else
		meta_set_version(obj, VERSION_OF_NONE);
}

/* Each object is read at most once per pass. A cached object without uid is absent. */
static const cJSON *find_cached(const struct pass *p, const struct kube_ref *ref)
{
	const cJSON *obj;

	json_each(obj, p->objects.cache)
		if (str_eq(meta_kind(obj), ref->kind) &&
		    str_eq(meta_name(obj), ref->name) &&
		    str_eq(meta_namespace(obj), ref->ns) &&
		    str_eq(meta_api_version(obj), ref->api_version))
			return obj;
	return NULL;
}

static int fetch(struct pass *p, const struct kube_ref *ref, const cJSON **ret,
		 struct error *err)
{
	const cJSON *cached = find_cached(p, ref);
	cJSON *obj;

	if (!cached) {
		if (kube_find(p->r->conf.kube, ref, &obj, err))
			return -1;
		if (!obj)
			obj = meta_new(ref->api_version, ref->kind, ref->ns, ref->name);
		cJSON_AddItemToArray(p->objects.cache, obj);
		cached = obj;
	}
	*ret = meta_uid(cached) ? cached : NULL;
	return 0;
}

int objects_fetch_given(struct pass *p, const struct kube_ref *ref, const cJSON **ret,
			struct error *err)
{
	if (fetch(p, ref, ret, err))
		return -1;
	return *ret ? pass_check_owner(*ret, p->tj, err) : 0;
}

int objects_fetch_own(struct pass *p, const struct kube_ref *ref, const cJSON **ret,
		      struct error *err)
{
	*ret = NULL;
	return p->objects.create_only ? 0 : objects_fetch_given(p, ref, ret, err);
}

/* ---- the environment of plugins ---- */

static bool is_own_name(const struct pass *p, const char *ns, const char *name)
{
	const char *rest = str_after(name, p->name);

	return str_eq(ns, p->ns) && rest && (!*rest || *rest == '-');
}

static int get(void *ctx, const struct object_ref *what, const cJSON **ret,
	       struct error *err)
{
	struct kube_ref ref = { what->api_version, what->kind, what->ns, what->name };
	struct pass *p = ctx;

	if (str_eq(ref.kind, JOBSET_KIND)) {
		*ret = p->jobset.own;
		return 0;
	}
	if (str_eq(ref.kind, "ConfigMap")) /* users create it after the TrainJob */
		return objects_fetch_given(p, &ref, ret, err);
	if (str_eq(ref.kind, "ResourceClaimTemplate")) /* the user's, with any name */
		return fetch(p, &ref, ret, err);
	if (is_own_name(p, ref.ns, ref.name))
		return objects_fetch_own(p, &ref, ret, err);
	return fetch(p, &ref, ret, err);
}

static int make_ssh(void *ctx, struct arena *arena, const char **ret_private_pem,
		    const char **ret_authorized_key, struct error *err)
{
	return keypair_ssh(arena, ret_private_pem, ret_authorized_key, err);
}

static int make_curve(void *ctx, struct arena *arena, char ret_public_z85[41],
		      char ret_secret_z85[41], struct error *err)
{
	return keypair_curve(ret_public_z85, ret_secret_z85, err);
}

static const struct key_source real_keys = { .ssh = make_ssh, .curve = make_curve };

/* ---- writing ---- */

/* "scheduling.k8s.io/v1beta1 PodGroup is deprecated": with each write. */
static bool is_of_version(const cJSON *obj, const char *warning)
{
	return str_eq(meta_api_version(obj), SCHEDULING_API_VERSION) &&
	       str_starts(warning, SCHEDULING_API_VERSION);
}

int objects_apply(struct pass *p, cJSON *obj, const cJSON *existing, cJSON **ret_meta,
		  struct error *err)
{
	cleanup_json cJSON *warnings = NULL;
	const struct kube_write how = { .manager = MANAGER_FIELD_OWNER,
					.force = true,
					.meta_only = true,
					.strict = p->r->conf.strict,
					.ret_warnings = &warnings };
	const cJSON *w;

	pass_write_precondition(obj, existing);
	if (kube_apply(p->r->conf.kube, obj, &how, ret_meta, err)) {
		if (err->kind == ERR_EXISTS)
			err->kind = ERR_CONFLICT;
		return -1;
	}
	json_each(w, warnings)
		if (!is_of_version(obj, w->valuestring))
			log_warn("API server warning", LOG_STR("key", p->key),
				 LOG_STR("kind", meta_kind(obj)),
				 LOG_STR("warning", w->valuestring));
	return 0;
}

/* Secrets are not watched: read one when a pod waits for it, and at this interval. */
enum { SECRET_MS = 50000 };

/*
 * True: `existing` has all fields of `obj`. API servers add fields to these specs.
 */
static bool is_written(const cJSON *obj, const cJSON *existing)
{
	static const char *const kinds[] = { "Service", "PodGroup", "Workload", NULL };

	if (str_in(meta_kind(obj), kinds))
		return meta_has_members(json_get(existing, "spec"), json_get(obj, "spec"),
					NULL);
	return meta_has_members(existing, obj, NULL);
}

/* Reads a ConfigMap, Secret or Service, and writes it if it differs. */
static int write_plain(struct pass *p, cJSON *obj, struct error *err)
{
	struct kube_ref ref = kube_ref_of(obj);
	const cJSON *existing;

	if (objects_fetch_own(p, &ref, &existing, err))
		return -1;
	if (str_eq(ref.kind, "Secret")) {
		job_memory_set_secret(p->r->conf.memories, p->memory, ref.name);
		if (!tj_suspend(p->tj))
			pass_requeue_after(p, SECRET_MS);
	}
	if (existing && is_written(obj, existing))
		return 0;
	return objects_apply(p, obj, existing, NULL, err);
}

const char *pass_missing_text(struct pass *p, const char *api_version)
{
	if (str_eq(api_version, SCHEDULING_API_VERSION))
		return arena_printf(&p->arena, PODGROUP_UNSERVED, api_version);
	return arena_printf(&p->arena, PODGROUP_MISSING, api_version);
}

/* If the PodGroup kind is not served, records that and returns PODGROUP_MISSING. */
static int pod_group_failed(struct pass *p, const cJSON *obj, struct error *err)
{
	if (err->kind != ERR_NOT_FOUND)
		return -1;
	p->memory->missing_group =
		watches_lack_groups(p->r->conf.watches, meta_api_version(obj));
	if (!p->memory->missing_group)
		return -1;
	log_warn("PodGroup is not installed", LOG_STR("key", p->key),
		 LOG_STR("apiVersion", p->memory->missing_group));
	return error_set(err, ERR_UNSUPPORTED, "%s",
			 pass_missing_text(p, meta_api_version(obj)));
}

/*
 * Kubernetes' own Workload, then its PodGroups, which it owns besides the TrainJob. Only
 * minCount changes, with numNodes of a suspended job.
 */
static int write_workload(struct pass *p, cJSON *obj, struct error *err)
{
	bool is_workload = str_eq(meta_kind(obj), "Workload");
	cleanup_json cJSON *meta = NULL;
	struct kube_ref ref = kube_ref_of(obj);
	const cJSON *existing;

	if (objects_fetch_own(p, &ref, &existing, err))
		return -1;
	if (!is_workload)
		meta_add_owner(obj, p->objects.workload);
	if (!(existing && is_written(obj, existing))) {
		if (objects_apply(p, obj, existing, &meta, err))
			return pod_group_failed(p, obj, err);
		existing = meta;
	}
	if (is_workload) {
		meta_set_uid(obj, meta_uid(existing));
		p->objects.workload = obj;
	}
	return 0;
}

static int write_pod_group(struct pass *p, cJSON *obj, struct error *err)
{
	struct last_write *last = &p->memory->written.podgroup;
	uint64_t hash = hash_json(0, obj);
	cleanup_json cJSON *meta = NULL;
	struct kube_ref ref = kube_ref_of(obj);
	const cJSON *existing;

	if (objects_fetch_own(p, &ref, &existing, err))
		return -1;
	if (existing && last->hash == hash &&
	    last->generation == meta_generation(existing))
		return 0;
	if (objects_apply(p, obj, existing, &meta, err))
		return pod_group_failed(p, obj, err);
	*last = (struct last_write){ hash, meta_generation(meta) };
	return 0;
}

/*
 * True: the API server would accept `obj` as a new object. A dry run with another name of
 * the same length.
 */
static bool api_would_accept(struct pass *p, const cJSON *obj)
{
	const struct kube_write how = { .manager = MANAGER_FIELD_OWNER,
					.force = true,
					.dry_run = true,
					.meta_only = true };
	cleanup_json cJSON *copy = json_dup(obj);
	cleanup_json cJSON *meta = NULL;
	char *name = arena_strdup(&p->arena, p->name);
	char *last = name + strlen(name) - 1;

	*last = *last == 'x' ? 'y' : 'x';
	meta_set_name(copy, name);
	meta_set_uid(copy, NULL);
	pass_write_precondition(copy, NULL);
	return kube_apply(p->r->conf.kube, copy, &how, &meta, IGNORED) == 0;
}

/* The JobSet as it is after a write, of which `meta` is the answer. */
static void jobset_was_written(struct pass *p, const cJSON *meta, bool suspended)
{
	cJSON *before = p->jobset.own;

	p->memory->written.jobset_version = meta_version_number(meta);
	p->memory->written.jobset_ms = clock_ms();
	p->memory->jobset_gone = false;
	p->jobset.own = jobset_as_written(meta, suspended, before);
	cJSON_Delete(before);
}

int objects_patch_jobset(struct pass *p, cJSON *patch, bool suspended, struct error *err)
{
	const struct kube_write how = { .manager = MANAGER_FIELD_OWNER,
					.meta_only = true };
	struct kube_ref ref = { JOBSET_API_VERSION, JOBSET_KIND, p->ns, p->name };
	cleanup_json cJSON *meta = NULL;

	pass_write_precondition(patch, p->jobset.own);
	if (kube_merge_patch(p->r->conf.kube, &ref, patch, &how, &meta, err))
		return -1;
	jobset_was_written(p, meta, suspended);
	return 0;
}

/*
 * A job can always be suspended, also while its JobSet cannot be changed to what would be
 * built now.
 */
static bool must_suspend(const struct pass *p)
{
	return tj_suspend(p->tj) && p->jobset.own && !meta_is_deleted(p->jobset.own) &&
	       !jobset_suspended(p->jobset.own);
}

static int suspend_alone(struct pass *p, struct error *err)
{
	cleanup_json cJSON *patch = cJSON_CreateObject();

	json_put_bool(patch, true, "spec", "suspend");
	return objects_patch_jobset(p, patch, true, err);
}

static int recreate_jobset(struct pass *p, const char *why, struct error *err)
{
	if (objects_delete_jobset(p, "Foreground", err))
		return -1;
	pass_event(p, false, "JobSetReplaced",
		   arena_printf(&p->arena, "recreating the suspended JobSet: %s", why));
	return error_set(err, ERR_CONFLICT, "the suspended JobSet is being recreated");
}

/*
 * Most fields of a JobSet are immutable. It is suspended as it is; once it has no pods it
 * is deleted, and the next pass recreates it. Otherwise fails with `why`.
 */
static int replace_jobset(struct pass *p, const cJSON *obj, const struct error *why,
			  struct error *err)
{
	bool can = why->kind == ERR_INVALID && p->jobset.own;

	if (can && must_suspend(p) && suspend_alone(p, err))
		return -1;
	if (can && tj_suspend(p->tj) && jobset_is_active(p->jobset.own)) {
		p->objects.awaits_pods = true;
		return 0; /* its watch queues the TrainJob */
	}
	if (!can || !jobset_suspended(p->jobset.own) || jobset_is_active(p->jobset.own) ||
	    !api_would_accept(p, obj)) {
		*err = *why;
		return -1;
	}
	return recreate_jobset(p, "it cannot be changed to the new template", err);
}

/* Webhooks of others may add to what is written: as the JobSet would be then. */
static bool apply_drops_placement(const struct pass *p, const cJSON *obj,
				  const cJSON *before)
{
	const struct kube_write how = { .manager = MANAGER_FIELD_OWNER,
					.force = true,
					.dry_run = true };
	cleanup_json cJSON *copy = json_dup(obj);
	cleanup_json cJSON *after = NULL;

	pass_write_precondition(copy, before);
	return !kube_apply(p->r->conf.kube, copy, &how, &after, IGNORED) &&
	       jobset_drops_placement(before, after);
}

/*
 * Kueue may admit a job again with another flavor: pods that also had the node selectors
 * of the first would wait for ever. 1: the Jobs of the suspended JobSet would keep what
 * `obj` drops. Not where claims with data would go with the JobSet.
 */
static int keeps_placement(const struct pass *p, const cJSON *obj, struct error *err)
{
	const cJSON *known = p->jobset.own;
	struct kube_ref ref = { JOBSET_API_VERSION, JOBSET_KIND, p->ns, p->name };
	cleanup_json cJSON *before = NULL;
	cleanup_json cJSON *claims = NULL;

	if (p->r->conf.local || !jobset_suspended(known) || jobset_is_active(known))
		return 0;
	if (kube_get(p->r->conf.kube, &ref, &before, err))
		return error_clear_if(err, ERR_NOT_FOUND);
	claims = jobset_own_claims(before);
	return !claims->child && jobset_drops_placement(before, obj) &&
	       apply_drops_placement(p, obj, before);
}

static void jobset_was_made(struct pass *p, bool suspended)
{
	int64_t created, now = clock_now();
	const char *text = meta_created(p->tj);

	pass_event(p, false, JOBSET_CREATED,
		   suspended ? "created the JobSet, suspended" : JOBSET_CREATED_TEXT);
	if (!p->status.before && text && !time_parse(&created, text, IGNORED))
		metrics_observe(p->r->conf.metrics, &jobset_seconds,
				now > created ? (double)(now - created) : 0);
}

enum { N_LABELS = 2 };
static const char *const labels[N_LABELS] = { "labels", "annotations" };

/*
 * True: all labels and annotations are there. Their changes do not raise the generation.
 */
static bool has_labels(const cJSON *existing, const cJSON *wanted)
{
	const cJSON *label;

	for (size_t i = 0; i < N_LABELS; i++)
		json_each(label, json_get(wanted, "metadata", labels[i]))
			if (!json_equal(label, json_get(existing, "metadata", labels[i],
							label->string)))
				return false;
	return true;
}

static int write_jobset(struct pass *p, cJSON *obj, struct error *err)
{
	struct last_write *last = &p->memory->written.jobset;
	uint64_t hash = hash_json(0, obj);
	bool suspended = jobset_suspended(obj);
	struct error why = { 0 };
	cleanup_json cJSON *meta = NULL;
	const cJSON *before = p->jobset.own;
	int keeps;

	if (before && meta_is_deleted(before))
		return 0; /* the watch queues the TrainJob once the JobSet is gone */
	if (before && last->hash == hash && last->generation == meta_generation(before) &&
	    has_labels(before, obj))
		return 0;
	keeps = before ? keeps_placement(p, obj, err) : 0;
	if (keeps < 0)
		return -1;
	if (keeps)
		return recreate_jobset(p,
				       "its Jobs would keep node selectors, tolerations "
				       "or scheduling gates that are gone",
				       err);
	if (objects_apply(p, obj, before, &meta, &why))
		return replace_jobset(p, obj, &why, err);
	*last = (struct last_write){ hash, meta_generation(meta) };
	p->jobset.made = !before;
	if (!before)
		jobset_was_made(p, suspended);
	jobset_was_written(p, meta, suspended);
	return 0;
}

static int write_object(struct pass *p, cJSON *obj, struct error *err)
{
	if (str_eq(meta_kind(obj), JOBSET_KIND))
		return write_jobset(p, obj, err);
	if (str_eq(meta_api_version(obj), SCHEDULING_API_VERSION))
		return p->r->conf.local ? 0 : write_workload(p, obj, err);
	if (str_eq(meta_kind(obj), "PodGroup")) /* a local run starts all pods at once */
		return p->r->conf.local ? 0 : write_pod_group(p, obj, err);
	return write_plain(p, obj, err);
}

int objects_delete_jobset(struct pass *p, const char *propagation, struct error *err)
{
	struct kube_ref ref = { JOBSET_API_VERSION, JOBSET_KIND, p->ns, p->name };

	if (!p->jobset.own || meta_is_deleted(p->jobset.own))
		return 0;
	if (!kube_delete(p->r->conf.kube, &ref, propagation, meta_uid(p->jobset.own),
			 err))
		return 0;
	return error_clear_if(err, ERR_NOT_FOUND);
}

/* ---- from the runtime to the objects ---- */

static int write_objects(struct pass *p, const cJSON *runtime, const cJSON *objects,
			 struct error *err)
{
	cJSON *obj;

	json_each(obj, objects)
		if (p->objects.unknown_snapshot && str_eq(meta_kind(obj), JOBSET_KIND) &&
		    objects_check_snapshot(p, obj, err))
			return -1;
	objects_know_policy(p, runtime);
	json_each(obj, objects)
		if (write_object(p, obj, err))
			return -1;
	return 0;
}

/* Admission was asked about another runtime, or not at all: says what it would say now. */
static void add_misfit(const struct pass *p, const struct pipeline *pipeline,
		       const cJSON *runtime, struct error *err)
{
	cleanup_field_errors struct field_errors errs = { .max = 1 };
	cleanup_buf struct buf text = { .max = sizeof(err->msg) };

	if (err->kind != ERR_INVALID)
		return;
	pipeline_validate(pipeline, NULL, p->tj, runtime, &errs, NULL);
	if (!errs.n)
		return;
	field_error_print(&text, errs.list);
	error_wrap(err, "the TrainJob does not fit its runtime: %.*s", (int)text.len,
		   text.data);
}

static int build_and_write(struct pass *p, const char *ca, struct error *err)
{
	const struct plugin_env env = {
		.keys = &real_keys,
		.get = get,
		.ctx = p,
		.image = p->r->conf.image,
		.cluster_domain = p->r->conf.cluster_domain,
		.status_server = p->r->conf.status_server,
		.claims_off = p->r->conf.claims_off,
		.scheduling_off = p->r->conf.scheduling_off,
		.status_server_url = p->r->conf.status_server_url,
		.status_server_ca = ca,
	};
	const struct pipeline pipeline = { plugins, &env };
	cleanup_json cJSON *runtime = NULL;
	cleanup_json cJSON *objects = NULL;

	if (objects_load_runtime(p, &runtime, err))
		return -1;
	if (p->jobset.name_taken)
		return not_controlled(JOBSET_KIND, p->name, p->name, err);
	if (p->r->conf.local && policy_mpi(runtime_ml_policy(runtime)))
		runtime_use_mpi_worker(runtime); /* a local run has no sshd */
	if ((p->objects.lost_snapshot &&
	     objects_make_lost_snapshot(p, &pipeline, runtime, err)) ||
	    pipeline_build(&pipeline, p->tj, runtime, &objects, err) ||
	    write_objects(p, runtime, objects, err)) {
		add_misfit(p, &pipeline, runtime, err);
		return -1;
	}
	return 0;
}

static uint64_t hash_number(uint64_t hash, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)n);
	return hash_text(hash, text);
}

/* Hash of a pass's inputs. If it equals the last pass's, the pass can be skipped. 0: no. */
static uint64_t inputs_hash(const struct pass *p, const char *ca)
{
	const cJSON *jobset = p->jobset.own, *member;
	uint64_t hash = hash_text(0, ca ? ca : "");

	if (p->objects.awaits_pods)
		return 0;
	json_each(member, json_get(p->tj, "metadata"))
		if (!str_eq(member->string, "resourceVersion"))
			hash = hash_json(hash, member);
	hash = hash_json(hash, json_get(p->tj, "spec"));
	hash = hash_number(hash, p->objects.foreign_changes);
	if (!jobset)
		return hash_text(hash, "none");
	hash = hash_text(hash, meta_uid(jobset) ? meta_uid(jobset) : "");
	for (size_t i = 0; i < N_LABELS; i++)
		hash = hash_json(hash, json_get(jobset, "metadata", labels[i]));
	hash = hash_number(hash, meta_generation(jobset));
	hash = hash_number(hash, jobset_suspended(jobset));
	return hash_number(hash, meta_is_deleted(jobset));
}

/* *ret: the inputs have changed or the Secret is missing, so that objects are written. */
static int has_work(struct pass *p, const char *ca, bool *ret, struct error *err)
{
	struct job_memory *n = p->memory;
	struct kube_ref ref = { "v1", "Secret", p->ns, n->secret.name };
	int64_t left = n->secret.checked_ms + SECRET_MS - clock_ms();
	const cJSON *existing;

	*ret = !n->written.inputs_hash || n->written.inputs_hash != inputs_hash(p, ca);
	if (*ret || !n->secret.name || tj_suspend(p->tj))
		return 0;
	if (!atomic_exchange(&n->secret.pod_waits, false) && left > 0) {
		pass_requeue_after(p, left);
		return 0;
	}
	if (objects_fetch_own(p, &ref, &existing, err))
		return -1;
	*ret = !existing;
	n->secret.checked_ms = clock_ms();
	pass_requeue_after(p, SECRET_MS);
	return 0;
}

/*
 * Objects may be missing because their TrainJob was deleted, which its watch has not
 * delivered yet: then they must not be recreated.
 */
int pass_check_alive(struct pass *p, bool *ret_status, struct error *err)
{
	struct kube_ref ref = kube_ref_of(p->tj);
	cleanup_json cJSON *live = NULL;

	if (kube_find(p->r->conf.kube, &ref, &live, err))
		return -1;
	if (!live || !str_eq(meta_uid(live), meta_uid(p->tj)) || meta_is_deleted(live))
		return error_set(err, ERR_CONFLICT, "the TrainJob was deleted");
	if (ret_status)
		*ret_status = tj_status(live) != NULL;
	return 0;
}

/* The CA of the status server, for the pods; NULL: the gate is off. */
static int get_certificate(const struct pass *p, char **ret, struct error *err)
{
	const struct reconciler_conf *conf = &p->r->conf;

	if (!conf->status_server)
		return 0;
	if (conf->certs)
		*ret = cert_manager_ca(conf->certs);
	else if (conf->status_server_ca)
		*ret = xstrdup(conf->status_server_ca);
	if (*ret)
		return 0;
	return error_set(err, ERR_CONFLICT, "the status server has no certificate yet");
}

/* The objects could not be made, because of `err`. */
static void suspend_at_least(struct pass *p, const struct error *err)
{
	struct error why = { 0 };

	if (!pass_no_answer(err) && must_suspend(p) && suspend_alone(p, &why))
		log_warn("cannot suspend the JobSet", LOG_STR("key", p->key),
			 LOG_ERR(&why));
}

int objects_reconcile(struct pass *p, struct error *err)
{
	cleanup_free char *ca = NULL;
	struct job_memory *n = p->memory;
	bool work;
	int rc;

	if (p->jobset.of_predecessor)
		return error_set(
			err, ERR_CONFLICT,
			"the JobSet of a deleted TrainJob of this name still exists");
	if (get_certificate(p, &ca, err))
		return -1;
	if (has_work(p, ca, &work, err))
		return -1;
	if (!work)
		return 0;
	p->objects.create_only = !n->objects_tried && !p->status.before && !p->jobset.own;
	if (!p->objects.create_only && (!p->jobset.own || p->objects.foreign_changes) &&
	    pass_check_alive(p, NULL, err))
		return -1;
	n->objects_tried = true;
	n->written.inputs_hash = 0;
	rc = build_and_write(p, ca, err);
	if (rc && p->objects.create_only && err->kind == ERR_CONFLICT) {
		*err = (struct error){ 0 };
		p->objects.create_only = false;
		rc = build_and_write(p, ca, err);
	}
	if (rc) {
		suspend_at_least(p, err);
		return -1;
	}
	n->written.inputs_hash = inputs_hash(p, ca);
	return 0;
}

bool pass_no_answer(const struct error *err)
{
	return err->kind == ERR_IO || err->kind == ERR_TIMEOUT || err->kind == ERR_BUSY ||
	       err->kind == ERR_STOPPED;
}

bool pass_namespace_dying(const struct error *err)
{
	return err->code == 403 && strstr(err->msg, "being terminated");
}
