/* hostfile.c - parse host files of MPI implementations (mpi/hostfile.h). */
#include "mpi/hostfile.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"

#define BLANKS " \t\r\v\f"

static bool is_number(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n && n < 10 && !text[n];
}

/* Cut ":4" off "host:4"; IPv6 addresses have more colons. */
static int cut_slots(char *name, struct error *err)
{
	char *colon = strchr(name, ':');

	if (!colon || strchr(colon + 1, ':'))
		return 0;
	*colon = '\0';
	return is_number(colon + 1) ? 0
				    : error_set(err, ERR_FORMAT,
						"invalid number of processes '%.60s': "
						"expected a number, as in host:4",
						colon + 1);
}

static bool is_name(const char *name)
{
	size_t n = strlen(name);

	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("-_.:%", *p))
			return false;
	return n && n <= HOSTFILE_NAME_MAX && *name != '-' && *name != '.';
}

/* "slots=4", "max_slots = 8": without a number after '=' it is an error. */
static int check_rest(const char *rest, struct error *err)
{
	size_t name = strcspn(rest, "=" BLANKS), n;
	const char *value = rest + name;

	if (strncmp(rest, "slots", name) || name != strlen("slots"))
		return 0;
	value += strspn(value, "=" BLANKS);
	n = strspn(value, "0123456789");
	if (n && n < 10 && (!value[n] || strchr(BLANKS, value[n])))
		return 0;
	return error_set(err, ERR_FORMAT,
			 "invalid slots '%.60s': expected a number, as in slots=4", rest);
}

/* `line` has neither a comment nor a newline. */
static int read_line(struct hostfile_host *ret, struct arena *arena, const char *line,
		     struct error *err)
{
	size_t n = strcspn(line, BLANKS);
	char *word = str_slice(arena, line, n), *at = strchr(word, '@');

	*ret = (struct hostfile_host){ .name = at ? at + 1 : word,
				       .user = at ? word : NULL };
	if (at)
		*at = '\0';
	if (cut_slots(at ? at + 1 : word, err))
		return -1;
	/* ^ before a host, or its user, leaves it out; mpirun never asks for it. */
	if (!is_name(ret->name) || (at && (!*word || *word == '^')))
		return error_set(err, ERR_FORMAT, "invalid host name '%.60s'", line);
	return check_rest(line + n + strspn(line + n, BLANKS), err);
}

static int read_lines(struct hostfile *h, struct arena *arena, char *const *lines,
		      struct map *seen, struct error *err)
{
	for (size_t i = 0; lines[i]; i++) {
		char *line = lines[i];

		line[strcspn(line, "#")] = '\0';
		line += strspn(line, BLANKS);
		if (!*line)
			continue;
		if (read_line(&h->hosts[h->n], arena, line, err))
			return error_wrap(err, "line %zu", i + 1);
		if (!map_put(seen, h->hosts[h->n].name, h))
			h->n++;
	}
	return h->n ? 0 : error_set(err, ERR_FORMAT, "contains no hosts");
}

int hostfile_parse(struct hostfile *ret, struct arena *arena, const char *text,
		   size_t len, struct error *err)
{
	struct hostfile h = { 0 };
	struct map seen = { 0 };
	char **lines;
	size_t n;
	int rc;

	if (memchr(text, '\0', len))
		return error_set(err, ERR_FORMAT, "not a text file: contains a NUL byte");
	lines = str_split(arena, str_slice(arena, text, len), '\n', &n);
	h.hosts = arena_alloc(arena, n * sizeof(*h.hosts));
	rc = read_lines(&h, arena, lines, &seen, err);
	map_release(&seen, NULL);
	if (!rc)
		*ret = h;
	return rc;
}
