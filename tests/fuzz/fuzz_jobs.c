/*
 * A JobSet and what its pods do, [jobset, [pod, status], ...]: a pod is a number,
 * counting those made so far; a status is a v1.PodStatus, or null: the pod is
 * gone. The machine refuses the JobSet with one clear error, or makes pods that
 * each have a name of their own, deletes only those it made and comes to a halt.
 */
#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "jobs/jobs.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_PODS = 300, MAX_EVENTS = 100 };

struct game {
	struct jobs *jobs;
	char *pods[MAX_PODS];
	size_t n;
	bool full; /* more pods than are kept in mind */
};

static bool made(const struct game *g, const char *name)
{
	for (size_t i = 0; i < g->n; i++)
		if (str_eq(g->pods[i], name))
			return true;
	return false;
}

static void act(struct game *g, const struct jobs_action *a)
{
	if (a->type == JOBS_DELETE_POD) {
		FUZZ_CHECK(g->full || made(g, a->pod_name));
		return;
	}
	FUZZ_CHECK(!made(g, a->pod_name) && str_eq(meta_name(a->pod), a->pod_name));
	if (g->n < MAX_PODS)
		g->pods[g->n++] = xstrdup(a->pod_name);
	else
		g->full = true;
}

static void step(struct game *g, int64_t now_ms)
{
	const struct jobs_action *list;
	int64_t wake;
	size_t n = jobs_step(g->jobs, now_ms, &list, &wake);

	for (size_t i = 0; i < n; i++)
		act(g, &list[i]);
	FUZZ_CHECK(wake == -1 || wake > now_ms);
	FUZZ_CHECK(cJSON_IsObject(jobs_status(g->jobs)));
}

static void play(struct game *g, const cJSON *events)
{
	const cJSON *event;
	int64_t now_ms = 0, number;
	int left = MAX_EVENTS;

	step(g, now_ms);
	for (event = events; event && left--; event = event->next) {
		const cJSON *pod = cJSON_IsArray(event) ? event->child : NULL;
		const cJSON *status = pod ? pod->next : NULL;

		now_ms += 700;
		if (pod && json_int_of(pod, &number) && number >= 0 &&
		    (size_t)number < g->n)
			jobs_pod_status(g->jobs, g->pods[number],
					cJSON_IsObject(status) ? status : NULL, now_ms);
		step(g, now_ms);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_json cJSON *doc = NULL;
	struct game g = { 0 };
	struct error err = { 0 };

	if (json_parse(&doc, data, size, &err) || !cJSON_IsArray(doc) || !doc->child)
		return 0;
	if (jobs_new(&g.jobs, doc->child, &err)) {
		FUZZ_CHECK(err.kind != ERR_NONE && err.msg[0] && !g.jobs);
		return 0;
	}
	play(&g, doc->child->next);
	jobs_free(g.jobs);
	for (size_t i = 0; i < g.n; i++)
		free(g.pods[i]);
	return 0;
}
