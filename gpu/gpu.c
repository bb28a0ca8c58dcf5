/* gpu.c - count the GPUs that this process may use, by device files (gpu/gpu.h). */
#include "gpu/gpu.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "gpu/discover.h"

enum { MAX_DEVICES = 1024 };

/* "nvidia0", "nvidia12": a device, unlike "nvidiactl" or "nvidia-uvm". */
static bool is_device(const char *name)
{
	const char *digits = str_after(name, "nvidia");

	return digits && *digits && digits[strspn(digits, "0123456789")] == 0;
}

/* Only device files that this process may open count. */
static size_t count_devices(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	size_t n = 0;

	while (dir && (e = readdir(dir)) != NULL)
		n += is_device(e->d_name) &&
		     faccessat(dirfd(dir), e->d_name, R_OK | W_OK, AT_EACCESS) == 0;
	if (dir)
		closedir(dir);
	return n < MAX_DEVICES ? n : MAX_DEVICES;
}

static const char *const *devices(struct arena *arena, const char *dir)
{
	size_t n = count_devices(dir);
	const char **ids = arena_alloc(arena, (n + 1) * sizeof(*ids));

	/* CUDA numbers the devices that it may open, regardless of the files' numbers. */
	for (size_t i = 0; i < n; i++)
		ids[i] = arena_printf(arena, "%zu", i);
	return ids;
}

/* Entries up to the first invalid one ("-1", ""), as in the CUDA runtime. */
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
	return gpu_visible_from(arena, getenv("CUDA_VISIBLE_DEVICES"), gpu_dev());
}
