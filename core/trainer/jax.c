/* jax.c - the variables of a cluster, and the numbers of GPUs (trainer/jax.h). */
#include "trainer/jax.h"

#include "base/buf.h"
#include "base/cleanup.h"

enum { MAX_GPUS = 1024 };

const struct jax_variable jax_cluster[] = {
	{ JAX_RECOGNIZED, "1" },
	{ "SLURM_STEP_NODELIST", "$(" JAX_ADDRESS ")" },
	{ "SLURM_NTASKS", "$(" JAX_PROCESSES ")" },
	{ "SLURM_PROCID", "$(" JAX_PROCESS ")" },
	{ "SLURM_LOCALID", "0" },
	{ NULL, NULL },
};

const char *jax_device_ids(struct arena *arena, int64_t gpus)
{
	cleanup_buf struct buf ids = { .max = 8 * MAX_GPUS };

	buf_adds(&ids, "0");
	for (int64_t i = 1; i < gpus && i < MAX_GPUS; i++)
		buf_printf(&ids, ",%lld", (long long)i);
	return arena_strdup(arena, (const char *)ids.data);
}
