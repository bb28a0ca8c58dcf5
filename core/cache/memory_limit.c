/* memory_limit.c - measures the memory left to this process (cache/memory_limit.h). */
#include "cache/memory_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"

enum { MAX_FILE = 64 * 1024, MAX_PATH = 4096 };

#define GROUPS "/sys/fs/cgroup"

/* The text of a small file; "" if unreadable. */
static const char *text_of(struct arena *arena, const char *path)
{
	cleanup_buf struct buf b = { .max = MAX_FILE };

	if (file_read(&b, path, IGNORED))
		return "";
	return str_slice(arena, (const char *)b.data, b.len);
}

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

/* Cached files count as used, but the kernel reclaims inactive ones. */
static uint64_t left_in(struct arena *arena, const char *group)
{
	uint64_t max, used, cached;

	max = number_after(text_of(arena, arena_printf(arena, "%s/memory.max", group)),
			   "");
	used = number_after(
		text_of(arena, arena_printf(arena, "%s/memory.current", group)), "");
	cached =
		number_after(text_of(arena, arena_printf(arena, "%s/memory.stat", group)),
			     "\ninactive_file ");
	if (max == UINT64_MAX || used == UINT64_MAX)
		return UINT64_MAX;
	if (cached != UINT64_MAX)
		used -= cached < used ? cached : used;
	return max > used ? max - used : 0;
}

/* The smallest limit of the group and its ancestors. */
static uint64_t left_in_groups(struct arena *arena)
{
	const char *text = text_of(arena, "/proc/self/cgroup");
	const char *at = strstr(text, "0::");
	uint64_t least = UINT64_MAX;
	char path[MAX_PATH];

	if (!at)
		return least;
	snprintf(path, sizeof(path), GROUPS "%.*s", (int)strcspn(at + 3, "\n"), at + 3);
	for (;;) {
		uint64_t left = left_in(arena, path);
		char *slash = strrchr(path, '/');

		least = left < least ? left : least;
		if (strlen(path) <= sizeof(GROUPS) - 1 || !slash)
			return least;
		*slash = 0;
	}
}

uint64_t memory_limit_left(void)
{
	cleanup_arena struct arena arena = { 0 };
	uint64_t groups = left_in_groups(&arena);
	uint64_t machine =
		number_after(text_of(&arena, "/proc/meminfo"), "MemAvailable:");

	if (machine != UINT64_MAX && machine < UINT64_MAX / 1024)
		machine *= 1024;
	return groups < machine ? groups : machine;
}
