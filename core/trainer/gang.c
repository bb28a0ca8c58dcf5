/* gang.c - find the pods that start together (trainer/gang.h). */
#include "trainer/gang.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"

/* Row i, column k: job i waits for job k, directly or through others. */
struct waits {
	bool *cell;
	size_t n;
	bool complete; /* some job waits for another to be Complete */
};

static bool *row_of(const struct waits *w, size_t i)
{
	return w->cell + i * w->n;
}

static void add_wait(struct waits *w, size_t i, size_t on)
{
	const bool *theirs = row_of(w, on);
	bool *ours = row_of(w, i);

	if (ours[on])
		return;
	ours[on] = true;
	for (size_t k = 0; k < w->n; k++)
		ours[k] |= theirs[k];
}

/* In a JobSet a job may only wait for jobs before it in the list. */
static void fill(struct waits *w, const struct info *info)
{
	cleanup_map struct map before = { 0 };
	const cJSON *dep;

	for (size_t i = 0; i < w->n; i++) {
		json_each(dep, rjob_depends_on(info->pod_sets[i].rjob)) {
			const char *name = podspec_element_name(dep);
			uintptr_t k = name ? (uintptr_t)map_get(&before, name) : 0;

			w->complete |= jobset_depends_on_complete(dep);
			if (k)
				add_wait(w, i, k - 1);
		}
		if (info->pod_sets[i].name)
			map_put(&before, info->pod_sets[i].name, (void *)(i + 1));
	}
}

/* An MPI launcher that is also a node starts after the workers, so these are the gang. */
static const struct pod_set *trainer_of(struct info *info)
{
	const struct pod_set *ret = NULL;

	if (mpi_launcher_is_node(policy_mpi(info->ml_policy)))
		ret = info_by_name(info, NODE);
	return ret ? ret : info_by_ancestor(info, ANCESTOR_TRAINER);
}

void gang_mark(struct info *info)
{
	const struct pod_set *trainer = trainer_of(info);
	size_t n = info->n_pod_sets;
	cleanup_free bool *cell = xcalloc(n * n + 1, sizeof(*cell));
	struct waits w = { .cell = cell, .n = n };

	fill(&w, info);
	for (size_t i = 0; i < n; i++)
		info->pod_sets[i].in_gang =
			!w.complete || !trainer ||
			memcmp(row_of(&w, i),
			       row_of(&w, (size_t)(trainer - info->pod_sets)),
			       n * sizeof(*cell)) == 0;
}

int gang_total(const struct info *info, struct resource_list *ret, int64_t *ret_pods,
	       struct error *err)
{
	int64_t pods = 0;

	for (size_t i = 0; i < info->n_pod_sets; i++) {
		const struct pod_set *ps = &info->pod_sets[i];
		int64_t n = pod_set_count(ps) * pod_set_replicas(ps);

		if (!ps->in_gang)
			continue;
		pods += n;
		if (n > INT32_MAX || pods > INT32_MAX)
			return error_set(err, ERR_LIMIT, "more than %d pods", INT32_MAX);
		if (pod_requests_add(ret, ps->pod_spec, n, err))
			return error_wrap(err, "job %s", ps->name);
	}
	*ret_pods = pods;
	return 0;
}
