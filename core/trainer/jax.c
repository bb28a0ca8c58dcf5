/* jax.c - number a process's GPUs for JAX (trainer/jax.h). */
#include "trainer/jax.h"

#include "base/buf.h"
#include "base/cleanup.h"

#define MAX_GPUS 1024

const char *jax_device_ids(struct arena *arena, int64_t gpus)
{
	cleanup_buf struct buf ids = { .max = 8 * MAX_GPUS };

	buf_adds(&ids, "0");
	for (int64_t i = 1; i < gpus && i < MAX_GPUS; i++)
		buf_printf(&ids, ",%lld", (long long)i);
	return arena_strdup(arena, (const char *)ids.data);
}
