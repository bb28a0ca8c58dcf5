/*
 * paddle.c - set PADDLE_* variables for paddle.distributed.launch (trainer/plugin.h).
 *
 * Upstream has no such policy. Applies to a runtime whose label LABEL_FRAMEWORK names the
 * framework, and whose mlPolicy names none: upstream's CRDs accept both. The trainers are
 * the job node; a job ps has the parameter servers, as in Training Operator V1. A
 * container that has a PADDLE_MASTER is not changed.
 */
#include "base/str.h"
#include "plugins/common.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/peers.h"
#include "trainer/podspec.h"

#define PORT_NAME "master" /* as in V1 */
#define SERVERS   "ps"

/* Servers come first: the first peer is the master. False: this job has no such peers. */
static bool find_peers(struct info *info, struct peers *p)
{
	static const char *const jobs[] = { SERVERS, NODE };
	static const char *const tasks[] = { "ps", "worker" };

	for (size_t i = 0; i < 2; i++) {
		const struct pod_set *ps = info_by_name(info, jobs[i]);
		cJSON *c = ps ? pod_container(ps->pod_spec, NODE) : NULL;

		if (!c)
			continue;
		if (pod_set_replicas(ps) > 1) /* the addresses assume a single Job */
			return false;
		p->groups[p->n++] =
			(struct peer_group){ tasks[i], ps->name, pod_set_count(ps),
					     peers_port(c, PORT_NAME, PADDLE_PORT) };
	}
	return p->n > 0;
}

static int enforce_ml_policy(const struct plugin_env *env, struct info *info,
			     const cJSON *tj, struct error *err)
{
	struct peers peers = { .job = info->name, .subdomain = info->subdomain };

	if (!plugin_is_framework(info, FRAMEWORK_PADDLE) || !find_peers(info, &peers))
		return 0;
	for (size_t i = 0; i < peers.n; i++) {
		struct pod_set *ps = info_by_name(info, peers.groups[i].rjob);
		cJSON *c;

		json_each(c, pod_containers(ps->pod_spec)) {
			if (json_find_const(container_env(c), "name", PADDLE_MASTER))
				continue;
			peers_paddle_env(&info->arena, c, &peers, &peers.groups[i]);
			if (str_eq(podspec_element_name(c), NODE) &&
			    !peers_port(c, PORT_NAME, 0))
				container_add_port(c, PADDLE_PORT);
		}
	}
	return 0;
}

const struct plugin plugin_paddle = {
	.name = "Paddle",
	.edit[ENFORCE_ML_POLICY] = enforce_ml_policy,
};
