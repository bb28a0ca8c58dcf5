/*
 * preflight.h - does this node's every GPU, and each link between them, work?
 */
#ifndef GPU_PREFLIGHT_H
#define GPU_PREFLIGHT_H

#include "base/arena.h"
#include "gpu/health.h"
#include "gpu/helper.h"

enum preflight_depth { PREFLIGHT_NORMAL, PREFLIGHT_QUICK, PREFLIGHT_FULL };

/*
 * The other nodes of the job, rank 0 of which leads. `tell` and `hear` are to and from rank
 * 0 where ours is another. `open`: rank 0 gets what each other node says first, NULL of
 * those that do not come in time.
 */
struct preflight_job {
	uint32_t n, rank;
	int64_t call_ms; /* how long a call of NCCL may take: others may start later */
	int (*open)(void *ctx, const cJSON *hello, cJSON **ret, struct error *err);
	int (*tell)(void *ctx, uint32_t rank, const cJSON *doc, struct error *err);
	int (*hear)(void *ctx, uint32_t rank, cJSON **ret, struct error *err);
	const char *(*name)(void *ctx, struct arena *arena, uint32_t rank);
	void *ctx;
};

struct preflight {
	const char *node, *dev;          /* its name; where device files are */
	const char *const *only;         /* names of checks, ends with NULL; NULL: all */
	const cJSON *expect;             /* expect.h */
	enum preflight_depth depth;      /* how much memory, which pairs */
	const struct preflight_job *job; /* NULL: this node alone */
	int64_t wanted; /* so many devices have to be there; 0: none has to */
	int64_t call_ms,
		check_ms; /* how long a call of a library, and a check, may take */
	/* {check, node, device, result, value, unit, expected, message, ms}: borrowed. */
	void (*report)(void *ctx, const cJSON *row);
	void *ctx;

	/* of the run */
	struct gpu_helper helper;
	cJSON *found, *cuda; /* discover.h's document; the devices that CUDA shows */
	int64_t began, deadline;
	enum gpu_grade worst;
};

/* All checks; failures are rows. Returns the worst grade. */
enum gpu_grade preflight_run(struct preflight *p);

/* Names of the checks, in order, ends with NULL. */
extern const char *const preflight_checks[];

/* "pass", "warning", "retry", "fatal". */
const char *gpu_grade_name(enum gpu_grade grade);

/* ---- for the checks' own files ------------------------------------------------------ */

struct preflight_row {
	const char *check;
	enum gpu_grade grade;
	const char *message;
	const char *
		device; /* "3", "3:0" of a MIG instance, "1-3" of a link; NULL: the node */
	const char *unit;       /* NULL: no value */
	double value, expected; /* 0: nothing is expected */
};

void preflight_report(struct preflight *p, struct preflight_row row);
MUST_CHECK int preflight_ask(struct preflight *p, struct gpu_request request, cJSON **ret,
			     struct error *err);
/* Another node's row. */
void preflight_relay(struct preflight *p, const cJSON *row);
/* A failed question as a row. */
void preflight_failed(struct preflight *p, const char *check, const char *device,
		      const struct error *err);

/* CUDA's devices: how many, the name of one in rows, and that of its kind. */
uint32_t preflight_devices(const struct preflight *p);
const char *preflight_label(struct arena *arena, const struct preflight *p,
			    uint32_t ordinal);
const char *preflight_kind(const struct preflight *p, uint32_t ordinal);

/* A rate in bytes/s, graded by what is expected of that device. */
void preflight_rate(struct preflight *p, struct preflight_row row, int64_t rate,
		    const char *kind, const char *key);

/* Each in its own file: reports rows, and is not called where there is no device. */
void preflight_peers(struct preflight *p);
void preflight_nccl(struct preflight *p);
/* Called where there is no device, too: the other nodes wait. */
void preflight_job(struct preflight *p);

#endif
