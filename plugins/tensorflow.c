/*
 * tensorflow.c - set TF_CONFIG for tf.distribute (trainer/plugin.h).
 *
 * Upstream has no such policy. Applies to a runtime whose label LABEL_FRAMEWORK names the
 * framework, and whose mlPolicy names none: upstream's CRDs accept both. The jobs chief,
 * master, ps, node (or worker) and evaluator are TensorFlow's tasks, as in Training
 * Operator V1. A TrainJob with one pod gets no TF_CONFIG; an existing one is not changed.
 */
#include "api/meta.h"
#include "base/str.h"
#include "plugins/common.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/peers.h"
#include "trainer/podspec.h"

#define PORT_NAME "tfjob-port" /* as in V1 */

static cJSON *container_of(const struct pod_set *ps)
{
	return pod_container(ps->pod_spec, NODE);
}

static bool is_listed(const struct peers *p, const char *task)
{
	for (size_t i = 0; i < p->n; i++)
		if (str_eq(p->groups[i].task, task))
			return true;
	return false;
}

static int64_t find_peers(struct info *info, struct peers *p)
{
	int64_t pods = 0;

	for (size_t i = 0; i < info->n_pod_sets; i++) {
		const struct pod_set *ps = &info->pod_sets[i];
		const char *task = peers_tf_task(ps->name);

		if (!task || !container_of(ps) || is_listed(p, task))
			continue;
		p->groups[p->n++] =
			(struct peer_group){ task, ps->name, pod_set_count(ps),
					     peers_port(container_of(ps), PORT_NAME,
							TF_PORT) };
		/* The addresses assume a single Job. */
		pods += pod_set_count(ps);
		if (pod_set_replicas(ps) > 1)
			return 0;
	}
	return pods;
}

static int enforce_ml_policy(const struct plugin_env *env, struct info *info,
			     const cJSON *tj, struct error *err)
{
	struct peers peers = { .job = info->name, .subdomain = info->subdomain };

	if (!plugin_is_framework(info, FRAMEWORK_TENSORFLOW) ||
	    find_peers(info, &peers) < 2)
		return 0;
	peers.sparse =
		str_eq(meta_annotation(info->runtime, TF_DYNAMIC_ANNOTATION), "true");
	for (size_t i = 0; i < peers.n; i++) {
		cJSON *c = container_of(info_by_name(info, peers.groups[i].rjob));

		if (json_find_const(container_env(c), "name", TF_CONFIG))
			continue;
		if (peers_tf_env(c, &peers, &peers.groups[i], err))
			return -1;
		if (!peers_port(c, PORT_NAME, 0))
			container_add_port(c, TF_PORT);
	}
	return 0;
}

const struct plugin plugin_tensorflow = {
	.name = "TensorFlow",
	.edit[ENFORCE_ML_POLICY] = enforce_ml_policy,
};
