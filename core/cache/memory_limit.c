/* memory_limit.c - measures the memory left to this process (cache/memory_limit.h). */
#include "cache/memory_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"

enum { MAX_PATH = 4096 };

#define GROUPS "/sys/fs/cgroup"

/* The number on the line that begins with the name; UINT64_MAX if absent. */
static uint64_t number_after(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	char *end;
	uint64_t v;

	if (!at)
		return UINT64_MAX;
	at += strlen(name);
	v = strtoull(at, &end, 10);
	return end > at ? v : UINT64_MAX;
}

static uint64_t number_in(struct arena *arena, const char *dir, const char *file,
			  const char *name)
{
	return number_after(file_text(arena, path_join(arena, dir, file)), name);
}

/* Cached files count as used, but the kernel reclaims inactive ones. */
static uint64_t left_in(struct arena *arena, const char *group)
{
	uint64_t max = number_in(arena, group, "memory.max", "");
	uint64_t used = number_in(arena, group, "memory.current", "");
	uint64_t cached = number_in(arena, group, "memory.stat", "\ninactive_file ");

	if (max == UINT64_MAX || used == UINT64_MAX)
		return UINT64_MAX;
	if (cached != UINT64_MAX)
		used -= cached < used ? cached : used;
	return max > used ? max - used : 0;
}

/* The smallest limit of the group and its ancestors. */
static uint64_t left_in_groups(struct arena *arena)
{
	const char *at = strstr(file_text(arena, "/proc/self/cgroup"), "0::");
	uint64_t least = UINT64_MAX, left;
	char path[MAX_PATH];

	if (!at)
		return least;
	snprintf(path, sizeof(path), GROUPS "%.*s", (int)strcspn(at + 3, "\n"), at + 3);
	do {
		left = left_in(arena, path);
		least = left < least ? left : least;
	} while (path_up(path, GROUPS));
	return least;
}

uint64_t memory_limit_left(void)
{
	cleanup_arena struct arena arena = { 0 };
	uint64_t groups = left_in_groups(&arena);
	uint64_t machine = number_in(&arena, "/proc", "meminfo", "MemAvailable:");

	if (machine != UINT64_MAX && machine < UINT64_MAX / 1024)
		machine *= 1024;
	return groups < machine ? groups : machine;
}
