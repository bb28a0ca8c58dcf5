/* run_ports.c - reserve ports, and map the pipeline's to them (local/run_impl.h). */
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "kubelet/ports.h"
#include "local/run_impl.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/peers.h"

/* Would port_replace() change a variable or an argument of this container? */
static bool has_port(const cJSON *container)
{
	static const char *const lists[] = { "command", "args" };
	cleanup_arena struct arena a = { 0 };
	const cJSON *e;

	json_each(e, json_get(container, "env")) {
		const char *name = json_str(e, "name"), *value = json_str(e, "value");

		if (name && value &&
		    port_replace(&a, name, value, TRAINER_PORT, 0) != value)
			return true;
	}
	for (size_t i = 0; i < 2; i++)
		json_each(e, json_at(container, JSON_PATH(lists[i]))) {
			const char *word = cJSON_GetStringValue(e);

			if (word && port_replace(&a, NULL, word, TRAINER_PORT, 0) != word)
				return true;
		}
	return false;
}

static bool has_peers(const cJSON *container)
{
	return json_find_const(json_get(container, "env"), "name", TF_CONFIG);
}

static bool any_container(const struct run *r, bool (*is)(const cJSON *container))
{
	static const char *const lists[] = { "initContainers", "containers" };
	const cJSON *rjob, *c;

	json_each(rjob, json_get((const cJSON *)r->jobset, "spec", "replicatedJobs"))
		for (size_t i = 0; i < 2; i++)
			json_each(c,
				  json_at(rjob_pod_spec_const(rjob), JSON_PATH(lists[i])))
				if (is(c))
					return true;
	return false;
}

int run_reserve_port(struct run *r, int *ret_port, struct error *err)
{
	int lock;

	if (port_reserve(ret_port, &lock, err))
		return -1;
	r->port_locks =
		xreallocarray(r->port_locks, r->n_port_locks + 1, sizeof(*r->port_locks));
	r->port_locks[r->n_port_locks++] = lock;
	return 0;
}

static int map_rendezvous(struct run *r, struct error *err)
{
	int port;

	if (!any_container(r, has_port))
		return 0;
	if (run_reserve_port(r, &port, err))
		return -1;
	kubelet_map_port(r->kubelet, TRAINER_PORT, port);
	run_note(r, "port %d is mapped to %d", TRAINER_PORT, port);
	return 0;
}

/* One port for each pod: all pods listen on every address of the machine. */
static int map_peers(struct run *r, struct error *err)
{
	const char *pod, *const *names;
	int port;

	if (!any_container(r, has_peers))
		return 0;
	for (size_t i = 0; jobs_pod_names(r->jobs, i, &pod, &names); i++) {
		if (run_reserve_port(r, &port, err))
			return -1;
		for (; names && *names; names++)
			kubelet_map_peer(r->kubelet, *names, port);
	}
	run_note(r, "each pod gets its own port in %s", TF_CONFIG);
	return 0;
}

int run_map_ports(struct run *r, struct error *err)
{
	return map_rendezvous(r, err) || map_peers(r, err) ? -1 : 0;
}

void run_free_ports(struct run *r)
{
	for (size_t i = 0; i < r->n_port_locks; i++)
		close(r->port_locks[i]);
	free(r->port_locks);
}
