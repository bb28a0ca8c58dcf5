/* install_remove.c - delete our objects, webhooks first (client/install_remove.h). */
#include "client/install_remove.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "client/jobs.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"

/*
 * Why the object must not be removed; NULL: it is ours, or upstream's of the same name.
 * Upstream's plain manifests have few labels: without any, the name decides.
 */
static const char *why_not(struct arena *arena, const cJSON *obj)
{
	const char *part_of = meta_label(obj, INSTALL_PART_OF);
	const char *release = meta_annotation(obj, HELM_RELEASE);

	if (str_eq(meta_label(obj, INSTALL_MANAGED_BY), "Helm"))
		return arena_printf(
			arena, "managed by the Helm release %s; use 'helm uninstall'",
			release ? release : "?");
	if (meta_is(obj, TRAINER_GROUP, CLUSTER_RUNTIME_KIND))
		return meta_label(obj, LABEL_FRAMEWORK) ? NULL : "not a built-in runtime";
	if (part_of && !str_eq(part_of, "kubeflow"))
		return arena_printf(arena, "part of %s", part_of);
	return NULL;
}

struct removing {
	struct kube *kube;
	const struct remove_opts *opts;
	cJSON *runtimes; /* copies of the runtimes that are removed, or would be */
	bool crds;
};

static int remove_one(struct removing *r, const cJSON *obj, struct error *err)
{
	const struct kube_ref ref = kube_ref_of(obj);
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *now = NULL;
	struct error why = { 0 };
	const char *reason;

	if (!kube_get(r->kube, &ref, &now, &why)) {
		reason = why_not(&arena, now);
		if (!reason && !r->opts->dry_run &&
		    kube_delete(r->kube, &ref, "Background", meta_uid(now), &why) &&
		    why.kind != ERR_NOT_FOUND) {
			*err = why;
			return -1;
		}
		outcome_report(&r->opts->out, obj,
			       reason ? arena_printf(&arena, "kept: %s", reason)
			       : r->opts->dry_run ? "would be removed"
						  : "removed");
		if (!reason && meta_is(obj, TRAINER_GROUP, CLUSTER_RUNTIME_KIND))
			cJSON_AddItemToArray(r->runtimes, json_dup(obj));
		return 0;
	}
	if (why.kind == ERR_NOT_FOUND)
		return 0;
	*err = why;
	return -1;
}

struct users {
	const cJSON *runtimes;
	struct arena arena;
	size_t n;
	const char *first;
};

static int on_job(void *ctx, cJSON *take_obj, struct error *err)
{
	cleanup_json cJSON *job = take_obj;
	struct runtime_ref ref = tj_runtime_ref(job);
	struct users *u = ctx;
	const cJSON *r;

	json_each(r, u->runtimes) {
		if (!runtime_ref_is_cluster(&ref) || !str_eq(meta_name(r), ref.name))
			continue;
		if (!u->n++)
			u->first = arena_printf(&u->arena, "%s/%s", meta_namespace(job),
						meta_name(job));
	}
	return 0;
}

static void count_again(void *ctx)
{
	struct users *u = ctx;

	u->n = 0;
}

/* TrainJobs remain, and the SDK's list_jobs() reads the runtime of each. */
static void warn_of_users(struct removing *r)
{
	const struct kube_ref jobs = job_ref(NULL, NULL);
	struct users u = { .runtimes = r->runtimes };
	const struct kube_sink sink = { .on_item = on_job,
					.ctx = &u,
					.on_restart = count_again };

	if (r->runtimes->child &&
	    !kube_list(r->kube, &jobs, NULL, &sink, NULL, IGNORED) && u.n)
		reporter_line(&r->opts->out.notes,
			      "warning: %zu TrainJob%s still refer%s to a removed "
			      "runtime (%s%s); list_jobs() of the Python SDK fails until "
			      "it is installed again",
			      u.n, u.n == 1 ? "" : "s", u.n == 1 ? "s" : "", u.first,
			      u.n == 1 ? "" : ", ...");
	arena_clear(&u.arena);
}

struct namespaces {
	struct arena *arena;
	struct opt_strs *found;
	size_t max;
};

static int on_account(void *ctx, cJSON *take_obj, struct error *err)
{
	cleanup_json cJSON *account = take_obj;
	struct namespaces *n = ctx;

	if (!str_eq(meta_name(account), CACHE_ACCOUNT))
		return 0;
	if (n->found->n + 1 >= n->max) {
		const char **more =
			arena_alloc(n->arena, 2 * (n->max + 1) * sizeof(*more));

		for (size_t i = 0; i < n->found->n; i++)
			more[i] = n->found->list[i];
		n->found->list = more;
		n->max = 2 * (n->max + 1);
	}
	n->found->list[n->found->n++] = arena_strdup(n->arena, meta_namespace(account));
	n->found->list[n->found->n] = NULL;
	return 0;
}

static void drop_namespaces(void *ctx)
{
	struct namespaces *n = ctx;

	n->found->n = 0;
}

int install_cache_namespaces(struct kube *k, struct arena *arena, struct opt_strs *ret,
			     struct error *err)
{
	const struct kube_ref accounts = { "v1", "ServiceAccount", NULL, NULL };
	const struct kube_select ours = { .label_selector =
						  INSTALL_MANAGED_BY "=kftrainer" };
	struct namespaces n = { .arena = arena, .found = ret };
	const struct kube_sink sink = { .on_item = on_account,
					.ctx = &n,
					.on_restart = drop_namespaces };

	*ret = (struct opt_strs){ 0 };
	return kube_list(k, &accounts, &ours, &sink, NULL, err);
}

/*
 * The order of removal: webhooks first, as they could deny the others; what a controller
 * that still runs would create again once it has no right to; CRDs last.
 */
static int rank(const cJSON *obj)
{
	const char *kind = meta_kind(obj);

	if (str_ends(kind, "WebhookConfiguration"))
		return 0;
	if (str_eq(kind, "Secret") || str_eq(kind, "Lease"))
		return 2;
	return str_eq(kind, CRD_KIND) ? 3 : 1;
}

enum { LAST_RANK = 3 };

int install_remove(struct kube *k, const cJSON *list, const struct remove_opts *opts,
		   struct error *err)
{
	cleanup_json cJSON *runtimes = cJSON_CreateArray();
	struct removing removing = { .kube = k, .opts = opts, .runtimes = runtimes };
	const cJSON *obj;

	for (int r = 0; r <= LAST_RANK; r++) {
		obj = list->child ? list->child->prev : NULL; /* the last */
		for (; obj; obj = obj == list->child ? NULL : obj->prev) {
			removing.crds |= str_eq(meta_kind(obj), CRD_KIND);
			if (rank(obj) == r && !str_eq(meta_kind(obj), "Namespace") &&
			    remove_one(&removing, obj, err))
				return -1;
		}
	}
	if (!removing.crds)
		warn_of_users(&removing);
	return 0;
}
