/*
 * logs_local.c - the logs of this machine's jobs.
 *
 * A log is a file of lines that only grows. Each round reads what is new in each
 * of them; nothing stays open between rounds, so that hundreds of ranks are no
 * matter.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cmd/cmd.h"
#include "cmd/logs.h"
#include "cmd/ui/out.h"
#include "cmd/ui/prefix.h"
#include "local/state.h"

enum { BLOCK = 64 * 1024, LONGEST_LINE = 1024 * 1024, PAUSE_MS = 100 };

/* A file, and how far it has been read. */
struct tail {
	const char *path, *prefix;
	off_t offset;
	struct buf part; /* a line whose end is still to come */
	struct tail *next;
};

/* What is wanted, and where from. */
struct reader {
	const char *ns, *job, *step, *container;
	int64_t rank, tail; /* -1: all */
	struct arena arena;
	struct tail *tails, **last;
	size_t n;
	bool several; /* processes are to be shown, not only one */
	struct prefixes prefixes;
};

static bool wanted(const struct reader *r, const cJSON *log)
{
	return (!r->step || str_eq(r->step, json_str(log, "step"))) &&
	       (!r->container || str_eq(r->container, json_str(log, "container"))) &&
	       (r->rank < 0 || r->rank == json_int(log, -1, "rank"));
}

/* Not those that have written by now, but all that the run is to have. */
static int count_processes(struct reader *r, struct error *err)
{
	cleanup_json cJSON *steps = NULL;
	const cJSON *s, *c;
	int64_t n = 0;

	if (state_steps(&steps, r->ns, r->job, err))
		return -1;
	json_each(s, steps)
		json_each(c, json_get(s, "containers"))
			if ((!r->step || str_eq(r->step, json_str(s, "step"))) &&
			    (!r->container || str_eq(r->container, c->valuestring)))
				n += r->rank < 0 ? json_int(s, 0, "pods") : 1;
	r->several = n > 1;
	return 0;
}

static struct tail *known(const struct reader *r, const char *path)
{
	for (struct tail *t = r->tails; t; t = t->next)
		if (str_eq(t->path, path))
			return t;
	return NULL;
}

/* Where the last n lines begin. */
static off_t last_lines(int fd, off_t size, int64_t n)
{
	char block[BLOCK];
	off_t end = n ? size : 0;

	while (end > 0) {
		off_t start = end > BLOCK ? end - BLOCK : 0;
		ssize_t got = pread(fd, block, (size_t)(end - start), start);

		/* The newline that ends the file begins no line. */
		for (ssize_t i = got - 1; i >= 0; i--)
			if (block[i] == '\n' && start + i + 1 < size && !--n)
				return start + i + 1;
		end = got > 0 ? start : 0;
	}
	return n ? 0 : size;
}

static void add_tail(struct reader *r, const cJSON *log)
{
	struct tail *t = arena_alloc(&r->arena, sizeof(*t));
	cleanup_fd int fd = -1;
	struct stat st;

	t->path = arena_strdup(&r->arena, json_str(log, "path"));
	t->prefix = arena_strdup(&r->arena, json_str(log, "prefix"));
	t->part.max = LONGEST_LINE;
	*r->last = t;
	r->last = &t->next;
	r->n++;
	if (r->tail < 0)
		return;
	fd = open(t->path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st))
		t->offset = last_lines(fd, st.st_size, r->tail);
}

/* Logs that are there by now. */
static int find_logs(struct reader *r, struct error *err)
{
	cleanup_json cJSON *logs = NULL;
	const cJSON *log;

	if (state_logs(&logs, r->ns, r->job, err))
		return -1;
	json_each(log, logs)
		if (wanted(r, log) && !known(r, json_str(log, "path")))
			add_tail(r, log);
	return 0;
}

static void put_line(struct reader *r, const struct tail *t, const void *line, size_t len)
{
	prefix_line(&r->prefixes, r->several ? t->prefix : NULL, line, len);
}

static void take(struct reader *r, struct tail *t, const char *data, size_t len)
{
	const char *newline;

	while ((newline = memchr(data, '\n', len))) {
		size_t line = (size_t)(newline - data);

		if (t->part.len) {
			buf_add(&t->part, data, line);
			put_line(r, t, t->part.data, t->part.len);
			buf_clear(&t->part);
		} else {
			put_line(r, t, data, line);
		}
		data += line + 1;
		len -= line + 1;
	}
	/* One that has no end in sight is shown in pieces. */
	if (t->part.len + len > LONGEST_LINE) {
		put_line(r, t, t->part.data, t->part.len);
		buf_clear(&t->part);
	}
	buf_add(&t->part, data, len);
}

/* Everything that is new in one file; false when there was nothing. */
static bool read_tail(struct reader *r, struct tail *t)
{
	cleanup_fd int fd = -1;
	char block[BLOCK];
	struct stat st;
	ssize_t got;
	bool any = false;

	if (stat(t->path, &st) || st.st_size <= t->offset)
		return false;
	fd = open(t->path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (got = pread(fd, block, sizeof(block), t->offset)) > 0) {
		take(r, t, block, (size_t)got);
		t->offset += got;
		any = true;
	}
	return any;
}

static bool read_tails(struct reader *r)
{
	bool any = false;

	for (struct tail *t = r->tails; t; t = t->next)
		any |= read_tail(r, t);
	return any;
}

/* The last line of a file may have no newline. */
static void finish(struct reader *r)
{
	for (struct tail *t = r->tails; t; t = t->next) {
		if (t->part.len)
			put_line(r, t, t->part.data, t->part.len);
		buf_release(&t->part);
	}
}

/* Until the job has ended and nothing more comes. */
static int follow(struct reader *r, struct error *err)
{
	for (;;) {
		bool running = state_is_running(r->ns, r->job);
		bool any;

		if (find_logs(r, err))
			return -1;
		any = read_tails(r);
		if (fflush(stdout) || (!running && !any))
			return 0; /* main says what is wrong with stdout */
		if (!any && stop_wait(PAUSE_MS))
			return error_set(err, ERR_STOPPED, "stopped");
	}
}

static int show(struct reader *r, bool following, struct error *err)
{
	if (count_processes(r, err) || find_logs(r, err))
		return -1;
	if (!r->n && !following)
		return error_set(
			err, ERR_NOT_FOUND, "job %s has no matching logs%s", r->job,
			r->step || r->container || r->rank >= 0
				? "; omit --step, --rank and --container to show all"
				: " yet");
	read_tails(r);
	if (following && follow(r, err))
		return -1;
	finish(r);
	return EXIT_OK;
}

int logs_local(const struct logs_want *want, struct error *err)
{
	struct reader r = { .ns = want->ns,
			    .job = want->job,
			    .step = want->step,
			    .container = want->container,
			    .rank = want->rank,
			    .tail = want->tail };
	int code;

	r.last = &r.tails;
	r.prefixes.colour = out_colour(STDOUT_FILENO);
	code = show(&r, want->follow, err);
	for (struct tail *t = r.tails; t; t = t->next)
		buf_release(&t->part);
	arena_clear(&r.arena);
	return code;
}
