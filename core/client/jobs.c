/* jobs.c - get and list TrainJobs and runtimes, suggest names (client/jobs.h). */
#include "client/jobs.h"

#include <string.h>

#include "api/meta.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kube/named.h"
#include "kube/permission.h"
#include "trainer/api.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"
#include "why/view.h"

enum { SHOWN_NAMES = 8 };

struct kube_ref job_ref(const char *ns, const char *name)
{
	return (struct kube_ref){ TRAINER_API_VERSION, TRAINJOB_KIND, ns, name };
}

struct kube_ref job_runtime_ref(const char *kind, const char *ns, const char *name)
{
	bool cluster = str_eq(kind, CLUSTER_RUNTIME_KIND);

	return (struct kube_ref){ TRAINER_API_VERSION, kind, cluster ? NULL : ns, name };
}

static int add_item(void *ctx, cJSON *take_obj, struct error *err)
{
	cJSON_AddItemToArray(ctx, take_obj);
	return 0;
}

static void drop_items(void *ctx)
{
	cJSON_Delete(((cJSON *)ctx)->child);
	((cJSON *)ctx)->child = NULL;
}

/* ---- not found --------------------------------------------------------------------- */

/* ERR_NOT_FOUND, with the nearest name of the namespace, or with a few names. */
static int not_found(struct kube *k, const char *ns, const char *name, struct error *err)
{
	const struct kube_ref all = job_ref(ns, NULL);
	const struct kube_select select = { .meta_only = true };
	cleanup_json cJSON *list = cJSON_CreateArray();
	const struct kube_sink sink = { .on_item = add_item,
					.ctx = list,
					.on_restart = drop_items };
	cleanup_arena struct arena arena = { 0 };
	const char *option = kube_named(k);
	const char **names, *hint;
	size_t n = 0;

	if (kube_list(k, &all, &select, &sink, NULL, IGNORED))
		return error_set(err, ERR_NOT_FOUND, "no TrainJob %s in namespace %s",
				 name, ns);
	names = meta_names(&arena, list);
	while (names[n])
		n++;
	hint = nearest_hint(&arena, name, names);
	if (*hint)
		return error_set(err, ERR_NOT_FOUND, "no TrainJob %s in namespace %s%s",
				 name, ns, hint);
	if (n > SHOWN_NAMES)
		return error_set(err, ERR_NOT_FOUND,
				 "no TrainJob %s in namespace %s, which has %zu "
				 "TrainJobs; list them with 'kftrainer get%s'",
				 name, ns, n, kube_jobs_named(k, &arena, ns));
	if (n)
		return error_set(err, ERR_NOT_FOUND,
				 "no TrainJob %s in namespace %s; available: %s", name,
				 ns, str_join(&arena, names, ", "));
	return error_set(err, ERR_NOT_FOUND,
			 "no TrainJob %s in namespace %s, which has no TrainJobs; list "
			 "all with 'kftrainer get%s -A'",
			 name, ns, option);
}

int job_explain(struct error *err)
{
	size_t len = strlen(err->msg);

	if (err->kind == ERR_NOT_FOUND &&
	    strstr(err->msg, "could not find the requested resource"))
		snprintf(err->msg + len, sizeof(err->msg) - len,
			 "; Kubeflow Trainer is not installed in this cluster: run "
			 "'kftrainer install'");
	return permission_explain(err);
}

int job_get(struct kube *k, const char *ns, const char *name, cJSON **ret,
	    struct error *err)
{
	const struct kube_ref ref = job_ref(ns, name);

	if (name_check_job(name, err))
		return -1;
	if (!kube_get(k, &ref, ret, err))
		return 0;
	/* The API server names a missing object, but not a kind that is not served. */
	if (err->kind == ERR_NOT_FOUND && strstr(err->msg, "\" not found"))
		return not_found(k, ns, name, err);
	return job_explain(err);
}

/* ---- lists ------------------------------------------------------------------------- */

static int compare(const void *x, const void *y)
{
	const cJSON *a = *(cJSON *const *)x, *b = *(cJSON *const *)y;
	const char *ns_a = meta_namespace(a), *ns_b = meta_namespace(b);
	int ret = strcmp(ns_a ? ns_a : "", ns_b ? ns_b : "");

	return ret ? ret
		   : strcmp(meta_name(a) ? meta_name(a) : "",
			    meta_name(b) ? meta_name(b) : "");
}

static cJSON *sorted(cJSON *take_list)
{
	size_t n = (size_t)cJSON_GetArraySize(take_list), i = 0;
	cleanup_free cJSON **jobs = xcalloc(n + 1, sizeof(*jobs));

	while (take_list->child)
		jobs[i++] = cJSON_DetachItemViaPointer(take_list, take_list->child);
	qsort(jobs, n, sizeof(*jobs), compare);
	for (i = 0; i < n; i++)
		cJSON_AddItemToArray(take_list, jobs[i]);
	return take_list;
}

/* *ret: a JSON array, owned by the caller. */
static int list(struct kube *k, const struct kube_ref *all,
		const struct kube_select *select, cJSON **ret, struct error *err)
{
	cleanup_json cJSON *found = cJSON_CreateArray();
	const struct kube_sink sink = { .on_item = add_item,
					.ctx = found,
					.on_restart = drop_items };

	if (kube_list(k, all, select, &sink, NULL, err))
		return -1;
	*ret = STEAL(found);
	return 0;
}

int job_list(struct kube *k, const char *ns, const char *label_selector, cJSON **ret,
	     struct error *err)
{
	const struct kube_ref all = job_ref(ns, NULL);
	const struct kube_select select = { .label_selector = label_selector };

	if (list(k, &all, &select, ret, err))
		return job_explain(err);
	*ret = sorted(*ret);
	return 0;
}

int job_runtimes(struct kube *k, const char *kind, const char *ns, bool meta_only,
		 cJSON *to, struct error *err)
{
	const struct kube_ref all = job_runtime_ref(kind, ns, NULL);
	const struct kube_select select = { .meta_only = meta_only };
	cleanup_json cJSON *found = NULL;

	if (list(k, &all, &select, &found, err))
		return -1;
	while (found->child)
		cJSON_AddItemToArray(to, cJSON_DetachItemViaPointer(found, found->child));
	return 0;
}

/* ---- nodes and exit code ----------------------------------------------------------- */

/* The runtime's numNodes (1 if unset) or, if unreadable, ABSENT; either is cached. */
static int64_t runtime_nodes(struct kube *k, struct map *cache, const cJSON *job)
{
	struct runtime_ref ref = tj_runtime_ref(job);
	bool cluster = runtime_ref_is_cluster(&ref);
	const struct kube_ref at =
		job_runtime_ref(cluster ? CLUSTER_RUNTIME_KIND : RUNTIME_KIND,
				meta_namespace(job), ref.name);
	cleanup_arena struct arena arena = { 0 };
	const char *key =
		arena_printf(&arena, "%s/%s/%s", at.kind, at.ns ? at.ns : "", ref.name);
	int64_t *known = map_get(cache, key);
	cleanup_json cJSON *runtime = NULL;

	if (known)
		return *known;
	known = xcalloc(1, sizeof(*known));
	*known = ABSENT;
	if (*ref.name && !kube_get(k, &at, &runtime, IGNORED)) {
		int64_t n = policy_num_nodes(runtime_ml_policy(runtime));

		*known = n == ABSENT ? 1 : n;
	}
	map_put(cache, key, known);
	return *known;
}

int64_t job_nodes(struct kube *k, struct map *cache, const cJSON *job)
{
	int64_t own = tj_num_nodes(job);

	return own != ABSENT ? own : runtime_nodes(k, cache, job);
}

int job_exit_code(struct kube *k, const char *ns, const char *name)
{
	cleanup_view struct view v = { 0 };

	return view_load(&v, k, ns, name, IGNORED) ? 1 : view_exit_code(&v);
}
