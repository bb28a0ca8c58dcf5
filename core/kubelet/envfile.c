/* envfile.c - parse a file of environment variables (kubelet/envfile.h). */
#include "kubelet/envfile.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

struct scan {
	struct arena *arena;
	const char *p;
	int line;
};

static int bad(const struct scan *s, const char *what, struct error *err)
{
	return error_set(err, ERR_FORMAT, "line %d: %s", s->line, what);
}

static void skip_line(struct scan *s)
{
	s->p += strcspn(s->p, "\n");
}

static int quoted(struct scan *s, const char **ret, struct error *err)
{
	char quote = *s->p++;
	cleanup_buf struct buf b = { .max = 1 << 20 };

	for (; *s->p && *s->p != quote; s->p++) {
		if (*s->p == '\n')
			s->line++;
		if (quote == '"' && *s->p == '\\' && s->p[1] && strchr("\\\"$`", s->p[1]))
			s->p++;
		buf_add(&b, s->p, 1);
	}
	if (!*s->p)
		return bad(s, "missing closing quotation mark", err);
	s->p++;
	s->p += strspn(s->p, " \t\r");
	if (*s->p && *s->p != '\n' && *s->p != '#')
		return bad(s, "text after the closing quotation mark", err);
	skip_line(s);
	*ret = b.data ? arena_strdup(s->arena, (const char *)b.data) : "";
	return 0;
}

static int value(struct scan *s, const char **ret, struct error *err)
{
	size_t len;

	s->p += strspn(s->p, " \t");
	if (*s->p == '\'' || *s->p == '"')
		return quoted(s, ret, err);
	len = strcspn(s->p, "\n");
	*ret = str_trim(s->arena, str_slice(s->arena, s->p, len));
	s->p += len;
	return 0;
}

int envfile_get(struct arena *arena, const char *text, const char *key, const char **ret,
		struct error *err)
{
	struct scan s = { .arena = arena, .p = text };
	const char *found = NULL;

	while (*s.p) {
		const char *name, *v = NULL;
		size_t len;

		s.line++;
		s.p += strspn(s.p, " \t\r");
		if (*s.p && *s.p != '\n' && *s.p != '#') {
			len = strcspn(s.p, "=\n");
			if (s.p[len] != '=')
				return bad(&s, "no '=' after the name", err);
			name = str_trim(arena, str_slice(arena, s.p, len));
			s.p += len + 1;
			if (value(&s, &v, err) < 0)
				return -1;
			if (str_eq(name, key))
				found = v;
		} else {
			skip_line(&s);
		}
		if (*s.p)
			s.p++;
	}
	*ret = found;
	return 0;
}
