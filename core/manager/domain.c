/* domain.c - reads the cluster's domain from resolv.conf (manager/domain.h). */
#include "manager/domain.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"

enum { MAX_FILE = 64 * 1024 };

static const char *domain_of(struct arena *arena, char *search)
{
	const char *domain = NULL;
	size_t n;
	char **words = str_split(arena, search, ' ', &n);

	for (size_t i = 0; i < n && !domain; i++)
		domain = str_after(words[i], "svc.");
	return domain && *domain ? domain : NULL;
}

const char *domain_in(struct arena *arena, const char *path)
{
	cleanup_buf struct buf text = { .max = MAX_FILE };
	const char *ret = NULL;
	struct error err = { 0 };
	char **lines;
	size_t n;

	if (file_read(&text, path, &err) || !text.len)
		return NULL;
	lines = str_split(arena, arena_strdup(arena, (const char *)text.data), '\n', &n);
	for (size_t i = 0; i < n; i++) {
		for (char *p = lines[i]; *p; p++)
			*p = *p == '\t' ? ' ' : *p;
		if (str_after(lines[i], "search ")) /* the last line counts */
			ret = domain_of(arena, lines[i]);
	}
	return ret;
}
