#include "gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

enum { MAX_DEVICES = 1024 };

/* The driver numbers its devices without holes, but one may be kept from us. */
static size_t count_devices(const char *dir, bool *here)
{
	size_t n = 0;

	for (int i = 0; i < MAX_DEVICES; i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/nvidia%d", dir, i);
		here[i] = access(path, R_OK | W_OK) == 0;
		n += here[i];
	}
	return n;
}

static const char *const *devices(struct arena *arena, const char *dir)
{
	bool *here = arena_alloc(arena, MAX_DEVICES);
	size_t n = count_devices(dir, here);
	const char **ids = arena_alloc(arena, (n + 1) * sizeof(*ids));

	/* CUDA numbers those it may open, whatever the device files are called. */
	for (size_t i = 0; i < n; i++)
		ids[i] = arena_printf(arena, "%zu", i);
	return ids;
}

/* As the CUDA runtime reads it: up to the first entry that is none ("-1", ""). */
static const char *const *listed(struct arena *arena, const char *text)
{
	size_t n = 0, kept = 0;
	char **parts = str_split(arena, text, ',', &n);
	const char **ids = arena_alloc(arena, (n + 1) * sizeof(*ids));

	for (size_t i = 0; i < n; i++) {
		const char *id = str_trim(arena, parts[i]);

		if (!*id || *id == '-' || str_eq(id, "NoDevFiles"))
			break;
		ids[kept++] = id;
	}
	return ids;
}

const char *const *gpu_visible_from(struct arena *arena, const char *cuda_visible_devices,
				    const char *dev)
{
	if (cuda_visible_devices)
		return listed(arena, cuda_visible_devices);
	return devices(arena, dev);
}

const char *const *gpu_visible(struct arena *arena)
{
	return gpu_visible_from(arena, getenv("CUDA_VISIBLE_DEVICES"), "/dev");
}
