/* preflight_nodes.c - rows of node checks, and the job's rendezvous for them (preflight_nodes.h). */
#include "cmd/preflight_nodes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/quantity.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "net/dial.h"
#include "nodecheck/nodecheck.h"
#include "trainer/api.h"

enum { DIAL_MS = 1000 };

const char *const preflight_node_checks[] = { "mounts", "shm",    "names", "ports",
					      "links",  "clocks", NULL };
const char *const *const preflight_job_checks = preflight_node_checks + 2;

static bool chosen(const struct preflight *p, const char *check)
{
	return !p->only || str_in(check, p->only);
}

static void report(void *ctx, const struct nodecheck_row *row)
{
	struct preflight *p = ctx;

	if (chosen(p, row->check))
		preflight_report(p, (struct preflight_row){ .check = row->check,
							    .grade = row->bad ? GPU_FATAL
									      : GPU_PASS,
							    .message = row->message,
							    .device = row->device,
							    .unit = row->unit,
							    .value = row->value,
							    .expected = row->expected });
}

static struct nodecheck begin(struct preflight *p)
{
	p->began = clock_ms();
	return (struct nodecheck){ report, p, p->began + p->check_ms };
}

static int bytes_of(int64_t *ret, const char *text)
{
	struct quantity q;

	if (quantity_parse(&q, text, IGNORED) || q.nano < 0)
		return -1;
	*ret = quantity_ceil(&q);
	return 0;
}

int preflight_nodes_check(const struct preflight_node_opts *o, struct error *err)
{
	int64_t bytes;

	if (!o->shm || !bytes_of(&bytes, o->shm))
		return 0;
	return error_set(err, ERR_USAGE, "--shm '%.60s': expected a size such as 8Gi",
			 o->shm);
}

void preflight_nodes_local(struct preflight *p, const struct preflight_node_opts *o)
{
	struct nodecheck c = begin(p);
	int64_t bytes = 0;

	if (chosen(p, "mounts"))
		nodecheck_mounts(&c, o->mounts.list, o->mounts.n, p->node);
	if (o->shm && chosen(p, "shm") && !bytes_of(&bytes, o->shm))
		nodecheck_shm(&c, bytes);
}

/* ---- the job ---- */

static int send_to(void *rendezvous, uint32_t rank, const cJSON *doc, struct error *err)
{
	return rendezvous_send(rendezvous, rank, doc, err);
}

static int receive_from(void *rendezvous, uint32_t rank, cJSON **ret, struct error *err)
{
	return rendezvous_receive(rendezvous, rank, ret, err);
}

static void check_links(struct preflight *p, const struct preflight_job_nodes *t,
			struct nodecheck_peers *peers)
{
	cleanup_json cJSON *hello = cJSON_CreateObject();
	cJSON **hellos = xcalloc(peers->n, sizeof(*hellos));
	bool *here = xcalloc(peers->n, sizeof(*here));
	struct nodecheck c = begin(p);
	struct error err = { 0 };
	int rc;

	json_put_int(hello, peers->rank, "rank");
	rc = t->open(t->ctx, hello, hellos, &err);
	if (rc)
		report(p, &(struct nodecheck_row){ .check = "links",
						   .device = peers->names[0],
						   .message = err.msg,
						   .bad = true });
	for (uint32_t i = 0; i < peers->n; i++) {
		here[i] = hellos[i] != NULL;
		cJSON_Delete(hellos[i]);
	}
	peers->here = here;
	if (!rc)
		nodecheck_links(&c, peers);
	free(hellos);
	free(here);
}

/* A pod that is replaced alone: the others have been through this. */
static bool runs_already(const struct nodecheck_peers *peers)
{
	enum dial_stage stage;
	int fd;

	if (!peers->rank || dial(&fd, peers->names[0], peers->port, clock_ms() + DIAL_MS,
				 &stage, IGNORED))
		return false;
	close(fd);
	return true;
}

void preflight_nodes_job(struct preflight *p, const struct preflight_node_opts *o,
			 const struct preflight_job_nodes *t)
{
	cleanup_arena struct arena arena = { 0 };
	struct nodecheck_peers peers = { .n = t->rendezvous->n,
					 .rank = t->rendezvous->rank,
					 .port = o->port ? (int)o->port : TRAINER_PORT,
					 .send = send_to,
					 .receive = receive_from,
					 .ctx = t->rendezvous };
	struct nodecheck c = begin(p);

	peers.names = arena_alloc(&arena, peers.n * sizeof(*peers.names));
	for (uint32_t i = 0; i < peers.n; i++)
		peers.names[i] = t->name(t->ctx, &arena, i);
	if (chosen(p, "names"))
		nodecheck_names(&c, &peers);
	if (!chosen(p, "ports") && !chosen(p, "links") && !chosen(p, "clocks"))
		return;
	if (runs_already(&peers))
		report(p, &(struct nodecheck_row){
				  .check = "links",
				  .message = "not measured: the job runs already" });
	else
		check_links(p, t, &peers);
}
