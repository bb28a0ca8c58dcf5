/* parts.c - the parts of logs, events and metrics (history/history_impl.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/zstd.h"
#include "history/history_impl.h"
#include "local/state_impl.h"

enum { DECODED_BYTES = 256 * 1024, MAX_NUMBER = 1000000000 };

bool history_number(const char *file, const char *kind, const char *ending, int64_t *ret)
{
	cleanup_arena struct arena a = { 0 };
	const char *rest = str_after(file, kind);

	if (!rest || !str_ends(rest, ending) || strlen(rest) < strlen(ending))
		return false;
	rest = str_slice(&a, rest, strlen(rest) - strlen(ending));
	*ret = 0;
	return !*rest ||
	       (*rest == '.' && !str_int(ret, rest + 1, 1, MAX_NUMBER, IGNORED));
}

struct gathered {
	struct arena *arena;
	struct history_part *list;
	size_t n, cap;
};

static void gather(struct gathered *g, const struct history_part *part)
{
	if (g->n == g->cap) {
		size_t cap = g->cap ? 2 * g->cap : 64;
		struct history_part *list = arena_alloc(g->arena, cap * sizeof(list[0]));

		if (g->n)
			memcpy(list, g->list, g->n * sizeof(list[0]));
		g->list = list;
		g->cap = cap;
	}
	g->list[g->n++] = *part;
}

/* "0.1.log.zst": the second part of node 0's. */
static bool is_log(const char *file, int64_t *ret_rank, int64_t *ret_number)
{
	cleanup_arena struct arena a = { 0 };
	const char *rank = str_slice(&a, file, strcspn(file, "."));

	return !str_int(ret_rank, rank, 0, HISTORY_MAX_NODES - 1, IGNORED) &&
	       history_number(file, rank, ".log.zst", ret_number);
}

static void gather_file(struct gathered *g, const char *attempt, const char *file,
			const char *kind)
{
	bool log = str_eq(kind, "log");
	struct history_part part = { .rank = -1 };

	if (str_int(&part.attempt, attempt, 1, MAX_NUMBER, IGNORED) ||
	    (log ? !is_log(file, &part.rank, &part.number)
		 : !history_number(file, kind, ".jsonl", &part.number)))
		return;
	part.path = arena_printf(g->arena, log ? "%s/logs/%s" : "%s/%s", attempt, file);
	gather(g, &part);
}

static void gather_attempt(struct gathered *g, const char *dir, const char *attempt,
			   const char *kind)
{
	const char *below = str_eq(kind, "log")
				    ? arena_printf(g->arena, "%s/logs", attempt)
				    : attempt;
	char **files = state_entries(g->arena, path_join(g->arena, dir, below));

	for (; *files; files++)
		gather_file(g, attempt, *files, kind);
}

static int in_order(const void *a, const void *b)
{
	const struct history_part *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->attempt != y->attempt)
		return x->attempt < y->attempt ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static struct history_part *sorted(struct gathered *g, size_t *ret_n)
{
	if (g->n)
		qsort(g->list, g->n, sizeof(g->list[0]), in_order);
	*ret_n = g->n;
	return g->list;
}

struct history_part *history_parts(struct arena *arena, const char *dir, const char *kind,
				   size_t *ret_n)
{
	struct gathered g = { .arena = arena };
	char **attempts = state_entries(arena, dir);

	for (; *attempts; attempts++)
		gather_attempt(&g, dir, *attempts, kind);
	return sorted(&g, ret_n);
}

struct history_part *history_listed(struct arena *arena, const struct store_listing *list,
				    const char *kind, size_t *ret_n)
{
	struct gathered g = { .arena = arena };

	for (size_t i = 0; i < list->n; i++) {
		const char *path = list->objects[i].path, *slash = strchr(path, '/');

		if (slash)
			gather_file(&g, str_slice(arena, path, (size_t)(slash - path)),
				    slash + 1, kind);
	}
	return sorted(&g, ret_n);
}

/* Lines of which the last may be half: its writer replaces files whole, a copy may not. */
cJSON *history_last_report(const char *text, size_t len)
{
	while (len) {
		const char *newline = memrchr(text, '\n', len - 1);
		const char *line = newline ? newline + 1 : text;
		cJSON *doc = NULL;

		if (!json_parse(&doc, line, len - (size_t)(line - text), IGNORED) &&
		    cJSON_IsObject(doc))
			return doc;
		cJSON_Delete(doc);
		len = newline ? (size_t)(newline - text) : 0;
	}
	return NULL;
}

/* ---- logs ------------------------------------------------------------------------------- */

static int read_source(void *ctx, void *data, size_t len, size_t *ret_len,
		       struct error *err)
{
	ssize_t n = read(*(int *)ctx, data, len);

	if (n < 0)
		return error_errno(err, errno, "read");
	*ret_len = (size_t)n;
	return 0;
}

static int decode(const char *path, int to, int64_t *left, struct error *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	const struct zstd_source source = { read_source, &fd };
	cleanup_zstd_reader struct zstd_reader *r = NULL;
	cleanup_free char *bytes = xmalloc(DECODED_BYTES);
	size_t n;

	if (fd < 0)
		return error_errno(err, errno, "open");
	if (zstd_reader_new(&r, &source, err))
		return -1;
	do {
		if (zstd_read(r, bytes, DECODED_BYTES, &n, err))
			return -1;
		*left -= (int64_t)n;
		if (*left < 0)
			return error_set(err, ERR_LIMIT, "more than 16 GiB of output");
		if (file_write_fd(to, bytes, n, "output", err))
			return -1;
	} while (n);
	return 0;
}

static int open_log(int *ret, struct arena *a, const char *logs, const char *pod,
		    struct error *err)
{
	const char *path =
		path_join(a, path_join(a, logs, pod), HISTORY_CONTAINER ".log");

	*ret = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	return *ret < 0 ? error_errno(err, errno, "%s", path) : 0;
}

/* What is left of a damaged log is kept, and it says so itself. */
static int end_damaged(int to, const char *part, const struct error *why,
		       struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	char last = '\n';
	off_t size = lseek(to, 0, SEEK_END);
	const char *text;

	if (size > 0 && pread(to, &last, 1, size - 1) != 1)
		return error_errno(err, errno, "output");
	text = arena_printf(&a, "%skftrainer: the rest of attempts/%s is damaged: %s\n",
			    last == '\n' ? "" : "\n", part, why->msg);
	return file_write_fd(to, text, strlen(text), "output", err);
}

int history_decode(const char *logs, const char *name, int64_t nodes, const char *dir,
		   struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	int64_t left = HISTORY_MAX_LOGS;
	size_t n;
	struct history_part *parts = history_parts(&a, dir, "log", &n);
	struct error why = { 0 }, first = { 0 };

	for (int64_t rank = 0; rank < nodes; rank++) /* one may have written nothing */
		if (dir_make(path_join(&a, logs, history_pod(&a, name, rank)), 0700, err))
			return -1;
	for (size_t i = 0; i < n; i++) {
		cleanup_fd int to = -1;

		if (parts[i].rank >= nodes)
			break;
		if (open_log(&to, &a, logs, history_pod(&a, name, parts[i].rank), err))
			return -1;
		if (!decode(path_join(&a, dir, parts[i].path), to, &left, &why))
			continue;
		if (why.kind == ERR_FORMAT && end_damaged(to, parts[i].path, &why, err))
			return -1;
		error_wrap(&why, "attempts/%s", parts[i].path);
		if (!first.kind)
			first = why;
		if (why.kind != ERR_FORMAT)
			break;
	}
	if (first.kind)
		*err = why.kind == ERR_FORMAT ? first : why;
	return first.kind ? -1 : 0;
}
