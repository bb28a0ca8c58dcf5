/* peers.c - write TF_CONFIG and the PADDLE_ variables (trainer/peers.h). */
#include "trainer/peers.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/podspec.h"

/* The limit of a variable in execve() (MAX_ARG_STRLEN). */
enum { PEERS_MAX = 128 * 1024 - 64 };

#define OWN_INDEX "$(" TASK_INDEX ")"

const char *peers_tf_task(const char *rjob)
{
	static const struct {
		const char *rjob, *task;
	} tasks[] = {
		{ "chief", "chief" },   { "master", "master" },
		{ "ps", "ps" },         { NODE, "worker" },
		{ "worker", "worker" }, { "evaluator", "evaluator" },
	};

	for (size_t i = 0; i < N_ELEMENTS(tasks); i++)
		if (str_eq(tasks[i].rjob, rjob))
			return tasks[i].task;
	return NULL;
}

static void add_address(struct buf *out, const struct peers *p,
			const struct peer_group *g, const char *index)
{
	buf_printf(out, "\"%s-%s-0-%s.%s:%d\"", p->job, g->rjob, index, p->subdomain,
		   g->port);
}

static void add_all(struct buf *out, const struct peers *p, const struct peer_group *g)
{
	for (int64_t i = 0; g && i < g->n && !out->overflowed; i++) {
		char index[24];

		snprintf(index, sizeof(index), "%" PRId64, i);
		buf_adds(out, i ? "," : "");
		add_address(out, p, g, index);
	}
}

static const struct peer_group *group_of(const struct peers *p, const char *task)
{
	for (size_t i = 0; i < p->n; i++)
		if (str_eq(p->groups[i].task, task))
			return &p->groups[i];
	return NULL;
}

/* Variables that only workers and ps need. */
static void add_sparse(struct buf *out, const struct peers *p,
		       const struct peer_group *own)
{
	bool worker = str_eq(own->task, "worker");

	buf_adds(out, "\"worker\":{");
	if (worker) {
		buf_adds(out, "\"" OWN_INDEX "\":");
		add_address(out, p, own, OWN_INDEX);
	}
	buf_adds(out, "},\"ps\":[");
	if (worker)
		add_all(out, p, group_of(p, "ps"));
	else if (str_eq(own->task, "ps"))
		add_address(out, p, own, OWN_INDEX);
	buf_adds(out, "]");
}

static void add_cluster(struct buf *out, const struct peers *p)
{
	for (size_t i = 0; i < p->n; i++) {
		buf_printf(out, "%s\"%s\":[", i ? "," : "", p->groups[i].task);
		add_all(out, p, &p->groups[i]);
		buf_adds(out, "]");
	}
}

int peers_tf_env(cJSON *container, const struct peers *peers,
		 const struct peer_group *own, struct error *err)
{
	cleanup_buf struct buf text = { .max = PEERS_MAX };

	buf_adds(&text, "{\"cluster\":{");
	if (peers->sparse)
		add_sparse(&text, peers, own);
	else
		add_cluster(&text, peers);
	buf_printf(&text, "},\"task\":{\"type\":\"%s\",\"index\":" OWN_INDEX "}%s}",
		   own->task, peers->sparse ? "" : ",\"environment\":\"cloud\"");
	if (buf_check(&text, TF_CONFIG, err))
		return -1;
	container_set_env_field(container, TASK_INDEX, COMPLETION_INDEX_FIELD);
	container_set_env(container, TF_CONFIG, (const char *)text.data);
	return 0;
}

void peers_paddle_env(struct arena *arena, cJSON *container, const struct peers *peers,
		      const struct peer_group *own)
{
	const struct peer_group *lead = group_of(peers, "ps");
	int64_t n = 0;

	for (size_t i = 0; i < peers->n; i++)
		n += peers->groups[i].n;
	container_set_env_field(container, TASK_INDEX, COMPLETION_INDEX_FIELD);
	container_set_env(container, "PADDLE_JOB_ID", peers->job);
	container_set_env_int(container, "PADDLE_NNODES", n);
	if (lead)
		container_set_env(
			container,
			own == lead ? "PADDLE_SERVER_NUM" : "PADDLE_TRAINER_NUM", "1");
	else
		lead = &peers->groups[0];
	/* Paddle's launcher starts the master if both texts are equal. */
	container_set_env(container, "POD_IP",
			  arena_printf(arena, "%s-%s-0-" OWN_INDEX ".%s", peers->job,
				       own->rjob, peers->subdomain));
	container_set_env(container, PADDLE_MASTER,
			  arena_printf(arena, "%s-%s-0-0.%s:%d", peers->job, lead->rjob,
				       peers->subdomain, lead->port));
}

int peers_port(const cJSON *container, const char *name, int otherwise)
{
	const cJSON *port = json_find_const(json_get(container, "ports"), "name", name);

	return (int)json_int(port, otherwise, "containerPort");
}
