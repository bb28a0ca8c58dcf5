#include "api/meta.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "manager/manager.h"
#include "manager/reconcile_impl.h"
#include "manager/snapshot.h"
#include "net/keypair.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/pipeline.h"
#include "trainer/trainjob.h"

/*
 * A version that no object has: with it an apply creates, and is refused with 409
 * when the object is there.
 */
#define VERSION_OF_NONE "1"

/* ---- whose objects are these ---- */

int check_owner(const cJSON *obj, const cJSON *tj, struct error *err)
{
	const cJSON *owner = meta_controller(obj);

	if (meta_is_controlled(obj, tj))
		return 0;
	if (meta_is_deleted(obj) || (str_eq(meta_kind(owner), TRAINJOB_KIND) &&
				     str_eq(owner_name(owner), meta_name(tj))))
		return error_set(err, ERR_CONFLICT,
				 "%s %s of a TrainJob that is no more is still there",
				 meta_kind(obj), meta_name(obj));
	return error_set(err, ERR_EXISTS,
			 "%s %s exists and is not controlled by TrainJob %s",
			 meta_kind(obj), meta_name(obj), meta_name(tj));
}

void write_precondition(cJSON *obj, const cJSON *have)
{
	if (have)
		meta_set_uid(obj, meta_uid(have));
	else
		meta_set_version(obj, VERSION_OF_NONE);
}

bool is_same(const cJSON *wanted, const cJSON *have)
{
	const cJSON *member;

	json_each(member, wanted) {
		if (str_eq(member->string, "metadata"))
			continue;
		if (!json_equal(member, json_get(have, member->string)))
			return false;
	}
	return true;
}

static bool is_ref(const cJSON *obj, const struct kube_ref *ref)
{
	return str_eq(meta_kind(obj), ref->kind) && str_eq(meta_name(obj), ref->name) &&
	       str_eq(meta_namespace(obj), ref->ns) &&
	       str_eq(meta_api_version(obj), ref->api_version);
}

/* What has been asked for in this pass is not asked for again; without a uid: absent. */
static const cJSON *find_seen(const struct pass *p, const struct kube_ref *ref)
{
	const cJSON *obj;

	json_each(obj, p->seen)
		if (is_ref(obj, ref))
			return obj;
	return NULL;
}

static int fetch(struct pass *p, const struct kube_ref *ref, const cJSON **ret,
		 struct error *err)
{
	const cJSON *seen = find_seen(p, ref);
	cJSON *obj;

	if (!seen) {
		struct error why = { 0 };

		if (kube_get(p->r->conf.kube, ref, &obj, &why)) {
			if (why.kind != ERR_NOT_FOUND) {
				*err = why;
				return -1;
			}
			obj = meta_new(ref->api_version, ref->kind, ref->ns, ref->name);
		}
		cJSON_AddItemToArray(p->seen, obj);
		seen = obj;
	}
	*ret = meta_uid(seen) ? seen : NULL;
	return 0;
}

/* One of the TrainJob's own objects, or NULL. Somebody else's is an error. */
static int fetch_given(struct pass *p, const struct kube_ref *ref, const cJSON **ret,
		       struct error *err)
{
	if (fetch(p, ref, ret, err))
		return -1;
	return *ret ? check_owner(*ret, p->tj, err) : 0;
}

/* The same of what we make: a new TrainJob has none. */
static int fetch_own(struct pass *p, const struct kube_ref *ref, const cJSON **ret,
		     struct error *err)
{
	*ret = NULL;
	return p->fresh ? 0 : fetch_given(p, ref, ret, err);
}

/* ---- what plugins may ask for ---- */

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
		*ret = p->jobset;
		return 0;
	}
	if (str_eq(ref.kind, "ConfigMap")) /* of a user, made after the TrainJob */
		return fetch_given(p, &ref, ret, err);
	if (is_own_name(p, ref.ns, ref.name))
		return fetch_own(p, &ref, ret, err);
	return fetch(p, &ref, ret, err);
}

static int make_ssh(void *ctx, struct arena *arena, const char **ret_private_pem,
		    const char **ret_authorized_key, struct error *err)
{
	(void)ctx;
	return keypair_ssh(arena, ret_private_pem, ret_authorized_key, err);
}

static int make_curve(void *ctx, struct arena *arena, char ret_public_z85[41],
		      char ret_secret_z85[41], struct error *err)
{
	(void)ctx;
	(void)arena;
	return keypair_curve(ret_public_z85, ret_secret_z85, err);
}

static const struct key_source real_keys = { .ssh = make_ssh, .curve = make_curve };

/* ---- writing ---- */

/* A field that the API server does not know, say: of ours, or of the runtime. */
static void log_warnings(const struct pass *p, const cJSON *obj, const cJSON *warnings)
{
	const cJSON *w;

	json_each(w, warnings)
		log_warn("the API server warns", LOG_STR("key", p->key),
			 LOG_STR("kind", meta_kind(obj)),
			 LOG_STR("warning", w->valuestring));
}

static int apply(struct pass *p, cJSON *obj, const cJSON *have, cJSON **ret_meta,
		 struct error *err)
{
	cleanup_json cJSON *warnings = NULL;
	const struct kube_write how = { .manager = MANAGER_FIELD_OWNER,
					.force = true,
					.meta_only = true,
					.strict = p->r->conf.strict,
					.ret_warnings = &warnings };

	write_precondition(obj, have);
	if (kube_apply(p->r->conf.kube, obj, &how, ret_meta, err) == 0) {
		log_warnings(p, obj, warnings);
		return 0;
	}
	if (err->kind == ERR_EXISTS)
		err->kind = ERR_CONFLICT;
	return -1;
}

/* Secrets are not watched: one is looked for when a pod waits, and so often. */
enum { SECRET_MS = 50000 };

/* ConfigMaps and Secrets: looked at, and written when they differ. */
static int write_plain(struct pass *p, cJSON *obj, struct error *err)
{
	struct kube_ref ref = kube_ref_of(obj);
	const cJSON *have;

	if (fetch_own(p, &ref, &have, err))
		return -1;
	if (str_eq(ref.kind, "Secret")) {
		note_secret(p->note, ref.name);
		if (!tj_suspend(p->tj))
			pass_again(p, SECRET_MS);
	}
	if (have && is_same(obj, have))
		return 0;
	return apply(p, obj, have, NULL, err);
}

static int write_pod_group(struct pass *p, cJSON *obj, struct error *err)
{
	struct written *last = &p->note->podgroup;
	uint64_t hash = note_hash_doc(0, obj);
	cleanup_json cJSON *meta = NULL;
	struct kube_ref ref = kube_ref_of(obj);
	const cJSON *have;

	if (fetch_own(p, &ref, &have, err))
		return -1;
	if (have && last->hash == hash && last->generation == meta_generation(have))
		return 0;
	if (apply(p, obj, have, &meta, err))
		return -1;
	*last = (struct written){ hash, meta_generation(meta) };
	return 0;
}

/* Would the API server take this as a new object? Under a name of the same length. */
static bool would_be_taken(struct pass *p, const cJSON *obj)
{
	const struct kube_write how = { .manager = MANAGER_FIELD_OWNER,
					.force = true,
					.dry_run = true,
					.meta_only = true };
	cleanup_json cJSON *copy = json_dup(obj);
	cleanup_json cJSON *meta = NULL;
	char *name = arena_strdup(&p->arena, p->name);
	char *last = name + strlen(name) - 1;
	struct error no = { 0 };

	*last = *last == 'x' ? 'y' : 'x';
	meta_set_name(copy, name);
	meta_set_uid(copy, NULL);
	write_precondition(copy, NULL);
	return kube_apply(p->r->conf.kube, copy, &how, &meta, &no) == 0;
}

/*
 * A JobSet hardly lets itself be changed. One that is suspended and without pods is as
 * good new as changed: it goes, and the next pass makes it again.
 */
static int replace_jobset(struct pass *p, const cJSON *obj, const struct error *why,
			  struct error *err)
{
	if (why->kind != ERR_INVALID || !p->jobset || !jobset_suspended(p->jobset) ||
	    jobset_is_active(p->jobset) || !would_be_taken(p, obj)) {
		*err = *why;
		return -1;
	}
	if (objects_delete_jobset(p, "Foreground", err))
		return -1;
	pass_event(p, false, "JobSetReplaced",
		   "the suspended JobSet cannot be changed to what it should be now, and "
		   "is made anew");
	return error_set(err, ERR_CONFLICT, "the suspended JobSet is made anew");
}

static void jobset_was_made(struct pass *p, bool suspended)
{
	int64_t created, now = clock_now();
	struct error unreadable = { 0 };
	const char *text = meta_created(p->tj);

	pass_event(p, false, "JobSetCreated",
		   suspended ? "created the JobSet, suspended" : "created the JobSet");
	if (!p->was && text && !time_parse(&created, text, &unreadable))
		metrics_observe(p->r->conf.metrics, &jobset_seconds,
				now > created ? (double)(now - created) : 0);
}

enum { N_LABELS = 2 };
static const char *const labels[N_LABELS] = { "labels", "annotations" };

/* Those are nothing that a generation counts. */
static bool has_labels(const cJSON *have, const cJSON *wanted)
{
	const cJSON *label;

	for (size_t i = 0; i < N_LABELS; i++)
		json_each(label, json_get(wanted, "metadata", labels[i]))
			if (!json_equal(label, json_get(have, "metadata", labels[i],
							label->string)))
				return false;
	return true;
}

static int write_jobset(struct pass *p, cJSON *obj, struct error *err)
{
	struct written *last = &p->note->jobset;
	uint64_t hash = note_hash_doc(0, obj);
	bool suspended = jobset_suspended(obj);
	struct error why = { 0 };
	cleanup_json cJSON *meta = NULL;
	cJSON *was = p->jobset;

	if (was && meta_is_deleted(was))
		return 0; /* its end wakes us */
	if (was && last->hash == hash && last->generation == meta_generation(was) &&
	    jobset_suspended(was) == suspended && has_labels(was, obj))
		return 0;
	if (apply(p, obj, was, &meta, &why))
		return replace_jobset(p, obj, &why, err);
	*last = (struct written){ hash, meta_generation(meta) };
	p->note->jobset_version = version_number(meta);
	p->note->jobset_since = clock_ms();
	p->jobset = jobset_as_written(meta, suspended, was);
	if (!was)
		jobset_was_made(p, suspended);
	cJSON_Delete(was);
	return 0;
}

static int write_object(struct pass *p, cJSON *obj, struct error *err)
{
	if (str_eq(meta_kind(obj), JOBSET_KIND))
		return write_jobset(p, obj, err);
	if (str_eq(meta_kind(obj), "PodGroup"))
		return write_pod_group(p, obj, err);
	return write_plain(p, obj, err);
}

int objects_delete_jobset(struct pass *p, const char *propagation, struct error *err)
{
	struct kube_ref ref = { JOBSET_API_VERSION, JOBSET_KIND, p->ns, p->name };
	struct error why = { 0 };

	if (!p->jobset || meta_is_deleted(p->jobset))
		return 0;
	if (kube_delete(p->r->conf.kube, &ref, propagation, meta_uid(p->jobset), &why) ==
		    0 ||
	    why.kind == ERR_NOT_FOUND)
		return 0;
	*err = why;
	return -1;
}

/* ---- from the runtime to the objects ---- */

/* A snapshot that is lost is taken anew, of the runtime as it is now. */
static int live_runtime(struct pass *p, cJSON **ret, struct error *err)
{
	struct runtime_ref want = tj_runtime_ref(p->tj);
	const struct kube_ref ref = { TRAINER_API_VERSION, want.kind,
				      runtime_ref_is_cluster(&want) ? NULL : p->ns,
				      want.name };

	if (runtimes_get(p->fresh ? p->r->conf.runtimes : NULL, p->r->conf.kube, &ref,
			 ret, err))
		return error_wrap(err, "the runtime of the TrainJob");
	return 0;
}

static int load_runtime(struct pass *p, cJSON **ret, struct error *err)
{
	struct kube_ref ref = { "v1", "ConfigMap", p->ns,
				snapshot_name(&p->arena, p->tj) };
	cleanup_json cJSON *runtime = NULL;
	cleanup_json cJSON *map = NULL;
	const cJSON *have;

	if (fetch_own(p, &ref, &have, err))
		return error_wrap(err, "runtime snapshot");
	if (have)
		return snapshot_read(ret, p->tj, have, err);
	if (live_runtime(p, &runtime, err) ||
	    snapshots_make(&p->r->snapshots, &map, p->tj, runtime, err))
		return -1;
	if (apply(p, map, NULL, NULL, err))
		return error_wrap(err, "runtime snapshot");
	*ret = STEAL(runtime);
	return 0;
}

static int build_and_write(struct pass *p, const char *ca, struct error *err)
{
	const struct plugin_env env = {
		.keys = &real_keys,
		.get = get,
		.ctx = p,
		.image = p->r->conf.image,
		.status_server = p->r->conf.status_server,
		.status_server_url = p->r->conf.status_server_url,
		.status_server_ca = ca,
	};
	const struct pipeline pipeline = { plugins, &env };
	cleanup_json cJSON *runtime = NULL;
	cleanup_json cJSON *objects = NULL;
	cJSON *obj;

	if (load_runtime(p, &runtime, err))
		return -1;
	if (p->foreign)
		return error_set(err, ERR_EXISTS,
				 "JobSet %s exists and is not controlled by TrainJob %s",
				 p->name, p->name);
	if (pipeline_build(&pipeline, p->tj, runtime, &objects, err))
		return -1;
	json_each(obj, objects)
		if (write_object(p, obj, err))
			return -1;
	return 0;
}

/* What a whole pass depends on: where it is as the last time, there is nothing to do. */
static uint64_t hash_of_world(const struct pass *p, const char *ca)
{
	uint64_t hash = note_hash(0, ca ? ca : "");
	const cJSON *member;

	json_each(member, json_get(p->tj, "metadata"))
		if (!str_eq(member->string, "resourceVersion"))
			hash = note_hash_doc(hash, member);
	hash = note_hash_doc(hash, json_get(p->tj, "spec")) + p->lost;
	if (!p->jobset)
		return note_hash(hash, "none");
	hash = note_hash(hash, meta_uid(p->jobset) ? meta_uid(p->jobset) : "");
	for (size_t i = 0; i < N_LABELS; i++)
		hash = note_hash_doc(hash, json_get(p->jobset, "metadata", labels[i]));
	hash += (uint64_t)meta_generation(p->jobset) * 4;
	return hash + (jobset_suspended(p->jobset) ? 2 : 0) +
	       (meta_is_deleted(p->jobset) ? 1 : 0);
}

/* Is there anything to write? What is not known to be as it was is looked at. */
static int has_work(struct pass *p, const char *ca, bool *ret, struct error *err)
{
	struct note *n = p->note;
	struct kube_ref ref = { "v1", "Secret", p->ns, n->secret };
	int64_t left = n->secret_at + SECRET_MS - clock_ms();
	const cJSON *have;

	*ret = !n->pass || n->pass != hash_of_world(p, ca);
	if (*ret || !n->secret || tj_suspend(p->tj))
		return 0;
	if (!atomic_exchange(&n->secret_due, false) && left > 0) {
		pass_again(p, left);
		return 0;
	}
	if (fetch_own(p, &ref, &have, err))
		return -1;
	*ret = !have;
	n->secret_at = clock_ms();
	pass_again(p, SECRET_MS);
	return 0;
}

/*
 * Objects that have gone may have gone with their TrainJob, whose own end is shown by
 * another watch, perhaps later: they are not to be made again then.
 */
int check_alive(struct pass *p, struct error *err)
{
	struct kube_ref ref = kube_ref_of(p->tj);
	cleanup_json cJSON *live = NULL;
	struct error why = { 0 };

	if (kube_get(p->r->conf.kube, &ref, &live, &why)) {
		if (why.kind != ERR_NOT_FOUND) {
			*err = why;
			return -1;
		}
	} else if (str_eq(meta_uid(live), meta_uid(p->tj)) && !meta_is_deleted(live)) {
		return 0;
	}
	return error_set(err, ERR_CONFLICT, "the TrainJob is no more");
}

/* Of the status server, which pods are to trust; NULL without the gate. */
static int get_certificate(const struct pass *p, char **ret, struct error *err)
{
	const struct reconciler_conf *conf = &p->r->conf;

	if (!conf->status_server)
		return 0;
	*ret = conf->certs ? cert_manager_ca(conf->certs) : NULL;
	if (*ret)
		return 0;
	return error_set(err, ERR_CONFLICT, "the status server has no certificate yet");
}

int objects_reconcile(struct pass *p, struct error *err)
{
	cleanup_free char *ca = NULL;
	struct note *n = p->note;
	bool work;
	int rc;

	if (p->leftover)
		return error_set(err, ERR_CONFLICT,
				 "the JobSet of a TrainJob of this "
				 "name is still there");
	if (get_certificate(p, &ca, err))
		return -1;
	if (has_work(p, ca, &work, err))
		return -1;
	if (!work)
		return 0;
	p->fresh = !n->known && !p->was && !p->jobset;
	if (!p->fresh && (!p->jobset || p->lost) && check_alive(p, err))
		return -1;
	n->known = true;
	n->pass = 0;
	rc = build_and_write(p, ca, err);
	if (rc && p->fresh && err->kind == ERR_CONFLICT) {
		*err = (struct error){ 0 };
		p->fresh = false;
		rc = build_and_write(p, ca, err);
	}
	if (rc)
		return -1;
	n->pass = hash_of_world(p, ca);
	return 0;
}

bool is_namespace_going(const struct error *err)
{
	return err->code == 403 && strstr(err->msg, "being terminated");
}
