/* out.c - print documents, tables, outcomes and errors (cmd/ui/out.h). */
#include "cmd/ui/out.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "base/terminal.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "cmd/cmd.h"

enum { COLUMN_GAP = 3 };
#define OUT_MAX ((size_t)1 << 30)

void cmd_complain(const char *cmd, const char *fmt, ...)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	fflush(stdout);
	fprintf(stderr, "kftrainer %s: %s\n", cmd, str_visible(&arena, text, false));
}

static void complain_line(void *cmd, const char *text)
{
	cmd_complain(cmd, "%s", text);
}

struct reporter cmd_reporter(const char *cmd)
{
	return (struct reporter){ complain_line, (void *)cmd };
}

static void print_outcome(void *ctx, const cJSON *obj, const char *outcome)
{
	cleanup_arena struct arena arena = { 0 };

	if (obj)
		printf("%s: ", meta_title(&arena, obj));
	puts(outcome);
	fflush(stdout);
}

struct outcomes out_outcomes(const char *cmd)
{
	return (struct outcomes){ .object = print_outcome, .notes = cmd_reporter(cmd) };
}

enum out_format out_format(const char *word)
{
	static const char *const words[] = { "table", "yaml", "json", "name" };

	for (size_t i = 0; i < N_ELEMENTS(words); i++)
		if (str_eq(word, words[i]))
			return (enum out_format)i;
	return OUT_TABLE;
}

int out_doc(enum out_format format, const cJSON *doc, struct error *err)
{
	cleanup_buf struct buf text = { .max = OUT_MAX };

	if (format == OUT_JSON)
		json_print_pretty(&text, doc);
	else
		yaml_print(&text, doc);
	if (buf_check(&text, "the output", err))
		return -1;
	fwrite(text.data, 1, text.len, stdout);
	return 0;
}

void out_name(const char *api_version, const char *kind, const char *name)
{
	const char *slash = strchr(api_version, '/');

	for (; *kind; kind++)
		putchar(tolower((unsigned char)*kind));
	if (slash)
		printf(".%.*s", (int)(slash - api_version), api_version);
	printf("/%s\n", name);
}

cJSON *out_list(cJSON *take_items)
{
	cJSON *list = cJSON_CreateObject();

	json_put_str(list, "v1", "apiVersion");
	json_put_str(list, "List", "kind");
	json_put(list, take_items, "items");
	return list;
}

void out_row(struct out_table *t, const char *const *cells)
{
	size_t i = 0;

	if (t->n + t->columns > t->cap) {
		t->cap = 2 * (t->n + t->columns);
		t->cells = xreallocarray(t->cells, t->cap, sizeof(*t->cells));
	}
	for (; i < t->columns && cells[i]; i++)
		t->cells[t->n++] =
			*cells[i] ? str_visible(&t->arena, cells[i], false) : "-";
	for (; i < t->columns; i++)
		t->cells[t->n++] = "-";
}

static size_t column_width(const struct out_table *t, size_t column)
{
	size_t width = 0;

	for (size_t i = column; i < t->n; i += t->columns)
		if (strlen(t->cells[i]) > width)
			width = strlen(t->cells[i]);
	return width;
}

void out_table(struct out_table *t)
{
	if (!t->width)
		t->width = xcalloc(t->columns, sizeof(*t->width));
	for (size_t c = 0; c + 1 < t->columns; c++) {
		size_t width = column_width(t, c) + COLUMN_GAP;

		if (width > t->width[c])
			t->width[c] = width;
	}
	for (size_t i = 0; i < t->n; i++) {
		if ((i + 1) % t->columns)
			printf("%-*s", (int)t->width[i % t->columns], t->cells[i]);
		else
			puts(t->cells[i]);
	}
	arena_clear(&t->arena);
	t->n = 0;
}

void out_table_release(struct out_table *t)
{
	arena_clear(&t->arena);
	free(t->cells);
	free(t->width);
	t->cells = NULL;
	t->width = NULL;
	t->n = t->cap = 0;
}

bool out_terminal(int fd)
{
	const char *term = getenv("TERM");

	return term && *term && !str_eq(term, "dumb") && isatty(fd);
}

void out_terminal_size(int *ret_columns, int *ret_rows)
{
	bool terminal = out_terminal(STDOUT_FILENO);

	*ret_columns = terminal ? terminal_columns(STDOUT_FILENO) : 0;
	*ret_rows = terminal ? terminal_rows(STDOUT_FILENO) : 0;
}

bool out_colour(int fd)
{
	const char *no = getenv("NO_COLOR");

	return !(no && *no) && out_terminal(fd);
}

const char *out_duration(struct arena *arena, int64_t ms)
{
	int64_t s = ms / 1000;

	if (s < 60)
		return arena_printf(arena, "%lld.%lld s", (long long)s,
				    (long long)(ms / 100 % 10));
	if (s < 3600)
		return arena_printf(arena, "%lldm %02llds", (long long)(s / 60),
				    (long long)(s % 60));
	return arena_printf(arena, "%lldh %02lldm", (long long)(s / 3600),
			    (long long)(s / 60 % 60));
}

int out_bytes(void *ctx, int fd, const char *data, size_t len, struct error *err)
{
	if (!file_write_fd(fd, data, len, "output", err))
		return 0;
	err->kind = ERR_STOPPED;
	return -1;
}
