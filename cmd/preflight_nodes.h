/*
 * preflight_nodes.h - preflight's checks of nodes (nodecheck/nodecheck.h), as its rows.
 */
#ifndef CMD_PREFLIGHT_NODES_H
#define CMD_PREFLIGHT_NODES_H

#include "base/opt.h"
#include "gpu/preflight.h"
#include "net/rendezvous.h"

struct preflight_node_opts {
	struct opt_strs mounts;
	const char *shm; /* a quantity; NULL: not checked */
	int64_t port;    /* of the job; 0: the default */
};

/* Names of these checks, ends with NULL; those of them that need the names of all nodes. */
extern const char *const preflight_node_checks[];
extern const char *const *const preflight_job_checks;

/* ERR_USAGE: --shm is no quantity. */
MUST_CHECK int preflight_nodes_check(const struct preflight_node_opts *o,
				     struct error *err);

/* Volumes and shared memory of this node. */
void preflight_nodes_local(struct preflight *p, const struct preflight_node_opts *o);

/* The job's names, then, once open() has connected the nodes, links between them. */
struct preflight_job_nodes {
	struct rendezvous *rendezvous;
	const char *(*name)(void *ctx, struct arena *arena, uint32_t rank);
	/* ret: as of rendezvous_open() */
	int (*open)(void *ctx, const cJSON *hello, cJSON **ret, struct error *err);
	void *ctx;
};
void preflight_nodes_job(struct preflight *p, const struct preflight_node_opts *o,
			 const struct preflight_job_nodes *t);

#endif
