/*
 * nodecheck.h - check what a job needs of its nodes besides GPUs: volumes, shared memory,
 * and the names, ports, links and clocks of all nodes.
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
	/* The row is the caller's. */
	void (*report)(void *ctx, const struct nodecheck_row *row);
	void *ctx;
	int64_t deadline; /* clock_ms(), of each check */
};

/* Write a file of 1 MiB in each directory, read it and remove it. */
void nodecheck_mounts(struct nodecheck *c, const char *const *paths, size_t n,
		      const char *node);
/* Is /dev/shm as large as that many bytes? 0: is there one at all? */
void nodecheck_shm(struct nodecheck *c, int64_t bytes);

/*
 * The nodes of the job. tell() and hear() send to and receive from a rank; ranks other
 * than 0 only use rank 0 (net/rendezvous.h).
 */
struct nodecheck_peers {
	uint32_t n, rank;
	const char **names; /* of all, to connect to: "train-node-0-1.train" */
	int port;           /* of the job: that of rank 0's rendezvous */
	const bool *here;   /* of rank 0: which of them have come */
	int (*tell)(void *ctx, uint32_t rank, const cJSON *doc, struct error *err);
	int (*hear)(void *ctx, uint32_t rank, cJSON **ret, struct error *err);
	void *ctx;
};

/* Can each node resolve all names? */
void nodecheck_names(struct nodecheck *c, const struct nodecheck_peers *peers);
/*
 * The port on each node, the links between them, by pairs that are measured at the same
 * time, and clocks. All nodes call it, and report the same rows.
 */
void nodecheck_links(struct nodecheck *c, const struct nodecheck_peers *peers);

#endif
