/*
 * preflight.h - check every GPU of this node and each link between them.
 */
#ifndef GPU_PREFLIGHT_H
#define GPU_PREFLIGHT_H

#include "base/arena.h"
#include "gpu/health.h"
#include "gpu/helper.h"

enum preflight_depth { PREFLIGHT_NORMAL, PREFLIGHT_QUICK, PREFLIGHT_FULL };

/*
 * The nodes of the job, led by rank 0. open() connects: on rank 0, ret[i] is the first
 * message (`hello`) of each other node i, NULL if it is late. send() and receive() send to
 * and receive from `rank`; ranks other than 0 use them only with rank 0.
 */
struct preflight_job {
	uint32_t n, rank;
	int64_t call_ms; /* limit of a call of NCCL, which waits for the other nodes */
	int (*open)(void *ctx, const cJSON *hello, cJSON **ret, struct error *err);
	int (*send)(void *ctx, uint32_t rank, const cJSON *doc, struct error *err);
	int (*receive)(void *ctx, uint32_t rank, cJSON **ret, struct error *err);
	const char *(*name)(void *ctx, struct arena *arena, uint32_t rank);
	void *ctx;
};

struct preflight {
	const char *node, *dev;     /* this node's name; the directory of device files */
	const char *const *only;    /* names of checks, ends with NULL; NULL: all */
	const cJSON *expect;        /* expect.h */
	enum preflight_depth depth; /* how much memory and which pairs to test */
	const struct preflight_job *job; /* NULL: this node alone */
	int64_t wanted;                  /* devices required; 0: none */
	int64_t call_ms, check_ms; /* limits of a call of a library, and of a check */
	/* {check, node, device, result, value, unit, expected, message, ms}: borrowed. */
	void (*report)(void *ctx, const cJSON *row);
	void *ctx;

	/* The state of preflight_run(). */
	struct gpu_helper helper;
	cJSON *found, *cuda; /* discover.h's document; CUDA's devices */
	int64_t began, deadline;
	enum gpu_grade worst;
};

/* Runs the checks and reports rows, failures included. Returns the worst grade. */
enum gpu_grade preflight_run(struct preflight *p);

/* Names of the checks, in order, ends with NULL. */
extern const char *const preflight_checks[];

/* ---- for the checks' own files ------------------------------------------------------ */

struct preflight_row {
	const char *check;
	enum gpu_grade grade;
	const char *message;
	const char *device;     /* "3"; MIG: "3:0"; a link: "1-3"; NULL: the node */
	const char *unit;       /* NULL: no value */
	double value, expected; /* 0: no expectation */
};

void preflight_report(struct preflight *p, struct preflight_row row);
MUST_CHECK int preflight_ask(struct preflight *p, struct gpu_request request, cJSON **ret,
			     struct error *err);
/* Report a row of another node. */
void preflight_relay(struct preflight *p, const cJSON *row);
/* Report a failed request as a row. */
void preflight_failed(struct preflight *p, const char *check, const char *device,
		      const struct error *err);

/* CUDA's devices: their number; the name of one in rows; the name of its model. */
uint32_t preflight_devices(const struct preflight *p);
const char *preflight_label(struct arena *arena, const struct preflight *p,
			    uint32_t ordinal);
const char *preflight_kind(const struct preflight *p, uint32_t ordinal);

/* Report a rate in bytes/s, graded by the expectation for that device. */
void preflight_rate(struct preflight *p, struct preflight_row row, int64_t rate,
		    const char *kind, const char *key);

/* Checks in files of their own. Not called without a device. */
void preflight_peers(struct preflight *p);
void preflight_nccl(struct preflight *p);
/* Called even without a device: the other nodes wait for this one. */
void preflight_job(struct preflight *p);

#endif
