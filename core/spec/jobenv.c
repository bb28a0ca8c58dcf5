/* jobenv.c - read the variables of --env-file and --env (spec/jobenv.h). */
#include "spec/jobenv.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_index.h"
#include "base/str.h"
#include "trainer/podspec.h"

#define BLANKS " \t\v\f\r"

struct vars {
	struct arena arena;
	struct json_index list; /* by name */
};

static void set(struct vars *v, const char *name, const char *value)
{
	cJSON *var = cJSON_CreateObject();

	json_put_str(var, name, "name");
	json_put_str(var, value, "value");
	json_index_upsert(&v->list, var);
}

static void set_literal(struct vars *v, const char *name, const char *value)
{
	set(v, name, podspec_literal(&v->arena, value));
}

/* Why it cannot be a variable's name, or NULL. The API server decides about the rest. */
static const char *name_fault(const char *name)
{
	if (!*name)
		return "the name before '=' is missing";
	for (; *name; name++)
		if (*name <= ' ' || *name >= 0x7f)
			return "a name has only ASCII characters, and no spaces";
	return NULL;
}

/* The first line of a file to warn of, and how many there are. */
struct lines {
	int first, n;
};

static void count(struct lines *l, int line)
{
	l->first = l->first ? l->first : line;
	l->n++;
}

static void warn(const struct reporter *to, const char *path, const struct lines *l,
		 const char *what)
{
	if (l->n == 1)
		reporter_line(to, "warning: %s:%d: %s", path, l->first, what);
	else if (l->n)
		reporter_line(to, "warning: %s:%d: %s (%d such lines)", path, l->first,
			      what, l->n);
}

/* kubectl's rule, for a line without '=': it may be a part of a value of several lines. */
static bool is_plain_name(const char *name)
{
	static const char letters[] = "-._abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

	return strspn(name, letters) == strlen(name) && !(*name >= '0' && *name <= '9');
}

struct env_file {
	const char *path;
	int line;
	struct lines quoted, unset;
};

static int line_error(const struct env_file *f, const char *why, struct error *err)
{
	return error_set(err, ERR_INVALID, "%s:%d: %s", f->path, f->line, why);
}

/* Why `line` is no line of a file, or NULL. Without '=' it is a name alone. */
static const char *line_fault(const char *line, bool alone)
{
	const char *fault = name_fault(line);

	if (fault && str_starts(line, "export "))
		return "'export' is for shells: remove it";
	if (!fault && alone && !is_plain_name(line))
		return "want NAME=VALUE or NAME; a value ends with its line";
	return fault;
}

static int add_line(struct vars *v, struct env_file *f, char *line, struct error *err)
{
	size_t len = strlen(line);
	const char *value, *fault;
	char *eq;

	if (len && line[len - 1] == '\r')
		line[len - 1] = '\0';
	line += strspn(line, BLANKS);
	if (!*line || *line == '#')
		return 0;
	eq = strchr(line, '=');
	if (eq)
		*eq = '\0';
	fault = line_fault(line, !eq);
	if (fault)
		return line_error(f, fault, err);
	value = eq ? eq + 1 : getenv(line);
	if (!value)
		count(&f->unset, f->line);
	else
		set_literal(v, line, value);
	if (eq && (*value == '"' || *value == '\''))
		count(&f->quoted, f->line);
	return 0;
}

static int add_lines(struct vars *v, struct env_file *f, char *text, size_t len,
		     struct error *err)
{
	char *end = text + len, *next;

	if (str_starts(text, STR_BOM))
		text += strlen(STR_BOM);
	for (f->line = 1; text < end; text = next + 1, f->line++) {
		next = memchr(text, '\n', (size_t)(end - text));
		next = next ? next : end;
		*next = '\0';
		if (strlen(text) != (size_t)(next - text))
			return line_error(f, "a NUL character", err);
		if (!utf8_valid(text, (size_t)(next - text)))
			return line_error(f, "not UTF-8", err);
		if (add_line(v, f, text, err))
			return -1;
	}
	return 0;
}

static int add_file(struct vars *v, const char *path, const struct reporter *to,
		    struct error *err)
{
	cleanup_buf struct buf text = { .max = ENV_FILE_MAX };
	struct env_file f = { .path = path };
	struct error why = { 0 };

	if (file_read(&text, path, &why))
		return error_set(err, ERR_INVALID, "--env-file %s", why.msg);
	if (!text.len)
		return 0;
	if (add_lines(v, &f, (char *)text.data, text.len, err))
		return -1;
	warn(to, path, &f.quoted,
	     "the quotes are part of the value, which ends with its line, as docker and "
	     "kubectl read it");
	warn(to, path, &f.unset, "not set in the environment: left out");
	return 0;
}

static int add_option(struct vars *v, const char *text, struct error *err)
{
	const char *eq = strchr(text, '='), *fault, *value;
	const char *name = eq ? str_slice(&v->arena, text, (size_t)(eq - text)) : text;

	fault = name_fault(name);
	if (fault)
		return error_set(err, ERR_USAGE, "--env: want NAME=VALUE or NAME: %s",
				 fault);
	if (eq) {
		set(v, name, eq + 1);
		return 0;
	}
	value = getenv(name);
	if (!value)
		return error_set(err, ERR_USAGE,
				 "--env %s: not set in the environment; export it, or "
				 "pass %s=VALUE",
				 name, name);
	set_literal(v, name, value);
	return 0;
}

int job_env_read(cJSON **ret, const struct job_opts *opts, const struct reporter *to,
		 struct error *err)
{
	cleanup_json cJSON *list = cJSON_CreateArray();
	struct vars v = { .list = { .of = list, .key = "name" } };
	int rc = 0;

	for (size_t i = 0; !rc && i < opts->env_files.n; i++)
		rc = add_file(&v, opts->env_files.list[i], to, err);
	for (size_t i = 0; !rc && i < opts->env.n; i++)
		rc = add_option(&v, opts->env.list[i], err);
	json_index_release(&v.list);
	arena_clear(&v.arena);
	if (!rc)
		*ret = STEAL(list);
	return rc;
}
