/*
 * jax.h - the variables that jax.distributed.initialize() reads when it has no arguments.
 *
 * Follows jax/_src/distributed.py and jax/_src/clusters of JAX 0.10: of upstream's three
 * variables it reads JAX_COORDINATOR_ADDRESS. The number of processes and the own one come
 * from a cluster that it recognizes, of which only Slurm needs neither a package nor a
 * permission; that gives each process one GPU, unless JAX_LOCAL_DEVICE_IDS has more.
 */
#ifndef TRAINER_JAX_H
#define TRAINER_JAX_H

#include <stdint.h>

#include "base/arena.h"

#define JAX_ADDRESS    "JAX_COORDINATOR_ADDRESS"
#define JAX_PROCESSES  "JAX_NUM_PROCESSES"
#define JAX_PROCESS    "JAX_PROCESS_ID"
#define JAX_DEVICE_IDS "JAX_LOCAL_DEVICE_IDS"
#define JAX_RECOGNIZED "SLURM_JOB_ID"

/*
 * The variables of a cluster, to be set after upstream's three, to which the values refer;
 * ends with { NULL }.
 */
struct jax_variable {
	const char *name, *value;
};
extern const struct jax_variable jax_cluster[];

/* The value of JAX_DEVICE_IDS for so many GPUs of a process: "0,1,2"; "0" without. */
const char *jax_device_ids(struct arena *arena, int64_t gpus);

#endif
