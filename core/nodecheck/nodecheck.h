/*
 * nodecheck.h - check the nodes of a job, except GPUs: volumes, shared memory, names, ports,
 * links and clocks.
 */
#ifndef NODECHECK_NODECHECK_H
#define NODECHECK_NODECHECK_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

struct nodecheck_row {
	const char *check;  /* "mounts", "shm", "names", "ports", "links", "clocks" */
	const char *device; /* the bad path, node, or link "a-b"; NULL: none */
	const char *message;
	const char *unit; /* NULL: no value */
	double value, expected;
	bool bad;
};

struct nodecheck {
	/* Gets each result; the row is valid during the call. */
	void (*report)(void *ctx, const struct nodecheck_row *row);
	void *ctx;
	int64_t deadline; /* clock_ms(); of each check */
};

/* Write a file of 1 MiB in each directory, read it and remove it. */
void nodecheck_mounts(struct nodecheck *c, const char *const *paths, size_t n,
		      const char *node);
/* Does /dev/shm have at least that many bytes? 0: does it exist? */
void nodecheck_shm(struct nodecheck *c, int64_t bytes);

/*
 * The nodes of the job. send() and receive() exchange messages with a rank; ranks but 0 use
 * rank 0 only (net/rendezvous.h).
 */
struct nodecheck_peers {
	uint32_t n, rank;
	const char **names; /* the n host names: "train-node-0-1.train" */
	int port;           /* the port of the job's rendezvous */
	const bool *here;   /* rank 0: which ranks have connected */
	int (*send)(void *ctx, uint32_t rank, const cJSON *doc, struct error *err);
	int (*receive)(void *ctx, uint32_t rank, cJSON **ret, struct error *err);
	void *ctx;
};

/* Does this node resolve all names? */
void nodecheck_names(struct nodecheck *c, const struct nodecheck_peers *peers);
/*
 * Check the port on each node, the links between pairs of nodes, of which several are
 * measured at the same time, and the clocks. All nodes call it and report the same rows.
 */
void nodecheck_links(struct nodecheck *c, const struct nodecheck_peers *peers);

#endif
