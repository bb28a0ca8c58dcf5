/* podlog.c - send a container's log (kubelet/podlog.h). */
#include "kubelet/podlog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kubelet/node.h"
#include "kubelet/output.h"
#include "trainer/api.h"
#include "trainer/podcause.h"

enum { CHUNK = 32 * 1024, LOOK_MS = 100, BLOCK = 1024 };

#define SECOND_NS ((int64_t)1000000000)

struct podlog {
	struct arena arena;
	struct apiserver *api;
	const char *ns, *name, *uid;
	struct log_options o;
	int fd, marks_fd; /* -1: no file yet */
	size_t n;         /* marks in the file: millions, of which a block is in memory */
	size_t base, got; /* of the block */
	struct output_mark block[BLOCK];

	int64_t pos, end; /* the requested part; end -1: follow it */
	size_t at;        /* the mark before pos */
	bool inside;      /* pos is within a line */
	struct httpd_stream *out;
	int64_t left; /* bytes that may be sent; -1: any number */
};

/* ---- marks --------------------------------------------------------------------------- */

static void count_marks(struct podlog *l)
{
	struct stat st;

	if (l->marks_fd >= 0 && !fstat(l->marks_fd, &st))
		l->n = (size_t)st.st_size / sizeof(struct output_mark);
}

/* NULL: there is none. Valid until the next call. */
static const struct output_mark *mark_at(struct podlog *l, size_t i)
{
	ssize_t n;

	if (i >= l->n)
		return NULL;
	if (i >= l->base && i < l->base + l->got)
		return &l->block[i - l->base];
	l->base = i - i % BLOCK;
	n = pread(l->marks_fd, l->block, sizeof(l->block),
		  (off_t)(l->base * sizeof(*l->block)));
	l->got = n > 0 ? (size_t)n / sizeof(*l->block) : 0;
	return i < l->base + l->got ? &l->block[i - l->base] : NULL;
}

/* Find the start of the container that is the `back`-th from the end; false: none. */
static bool find_start(struct podlog *l, int back, size_t *ret)
{
	for (size_t i = l->n; i-- > 0;) {
		const struct output_mark *m = mark_at(l, i);

		if (m && m->begins && !back--) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* The next start after the mark, or -1. */
static int64_t next_start(struct podlog *l, size_t from)
{
	const struct output_mark *m;

	for (size_t i = from + 1; (m = mark_at(l, i)); i++)
		if (m->begins)
			return m->offset;
	return -1;
}

/* When the file was last written: the time of all lines of a log without marks. */
static int64_t last_write(const struct podlog *l)
{
	struct stat st;

	return l->fd >= 0 && !fstat(l->fd, &st)
		       ? st.st_mtim.tv_sec * SECOND_NS + st.st_mtim.tv_nsec
		       : 0;
}

static int64_t time_at(struct podlog *l, int64_t pos)
{
	const struct output_mark *m;

	while ((m = mark_at(l, l->at + 1)) && m->offset <= pos)
		l->at++;
	m = mark_at(l, l->at);
	return m ? m->time_ns : last_write(l);
}

/* ---- where to begin ------------------------------------------------------------------ */

static int64_t size_of(const struct podlog *l)
{
	struct stat st;

	if (l->end >= 0)
		return l->end;
	return l->fd >= 0 && !fstat(l->fd, &st) ? st.st_size : 0;
}

/* The start of the first line at or after pos. */
static int64_t line_start(const struct podlog *l, int64_t pos)
{
	int64_t end = size_of(l);
	char chunk[CHUNK];

	while (pos > 0 && pos < end) {
		ssize_t n = pread(l->fd, chunk, CHUNK, (off_t)pos - 1);
		const char *newline = n > 0 ? memchr(chunk, '\n', (size_t)n) : NULL;

		if (newline)
			return pos + (newline - chunk) < end ? pos + (newline - chunk)
							     : end;
		if (n <= 0)
			return pos;
		pos += n;
	}
	return pos < end ? pos : end;
}

static void begin_since(struct podlog *l, size_t first)
{
	const struct output_mark *m;
	size_t i = first;

	if (!l->n && last_write(l) / SECOND_NS < l->o.since)
		l->pos = size_of(l);
	while ((m = mark_at(l, i)) && m->time_ns / SECOND_NS < l->o.since)
		i++;
	if (i > first)
		l->pos = m ? line_start(l, m->offset) : size_of(l);
}

static void begin_tail(struct podlog *l)
{
	int64_t size = size_of(l), pos = size, lines = 0;
	char chunk[CHUNK];

	while (pos > l->pos) {
		int64_t n = pos - l->pos < CHUNK ? pos - l->pos : CHUNK;
		const char *end = chunk + n;

		if (pread(l->fd, chunk, (size_t)n, (off_t)(pos - n)) != n)
			return;
		while ((end = memrchr(chunk, '\n', (size_t)(end - chunk)))) {
			int64_t next = pos - n + (end - chunk) + 1;

			if (next == size || ++lines < l->o.tail)
				continue;
			l->pos = next;
			return;
		}
		pos -= n;
	}
}

static void begin(struct podlog *l)
{
	size_t start = 0;

	l->end = -1;
	count_marks(l);
	if (find_start(l, l->o.previous, &start)) {
		const struct output_mark *m = mark_at(l, start);

		l->pos = m ? m->offset : 0;
		l->end = next_start(l, start);
	}
	l->at = start;
	if (l->o.since)
		begin_since(l, start);
	if (!l->o.tail)
		l->pos = size_of(l);
	else if (l->o.tail > 0)
		begin_tail(l);
}

/* ---- sending ------------------------------------------------------------------------- */

static int send(struct podlog *l, const char *data, size_t len)
{
	if (l->left >= 0 && (int64_t)len > l->left)
		len = (size_t)l->left;
	if (l->left >= 0)
		l->left -= (int64_t)len;
	return len && httpd_send(l->out, data, len) ? -1 : 0;
}

/* "2026-01-31T23:59:59.000000000Z " */
static void add_time(struct buf *out, int64_t ns)
{
	char text[TIME_TEXT_SIZE];
	size_t len = strlen(time_text(ns / SECOND_NS, text));

	buf_printf(out, "%.*s.%09lldZ ", (int)len - 1, text, (long long)(ns % SECOND_NS));
}

static int send_timed(struct podlog *l, const char *data, size_t len)
{
	cleanup_buf struct buf out = { .max = 64 * (size_t)CHUNK };

	for (size_t i = 0; i < len;) {
		const char *newline = memchr(data + i, '\n', len - i);
		size_t n = newline ? (size_t)(newline - data) + 1 - i : len - i;

		if (!l->inside)
			add_time(&out, time_at(l, l->pos + (int64_t)i));
		buf_add(&out, data + i, n);
		l->inside = !newline;
		i += n;
	}
	return send(l, (const char *)out.data, out.len);
}

/* Send the bytes that the file has now. 1: sent some; 0: none are new; -1: stop. */
static int send_more(struct podlog *l)
{
	int64_t n = l->end < 0 ? CHUNK : l->end - l->pos;
	char chunk[CHUNK];
	ssize_t got;
	int rc;

	if (l->fd < 0 || n <= 0 || !l->left)
		return l->left ? 0 : -1;
	got = pread(l->fd, chunk, (size_t)(n < CHUNK ? n : CHUNK), (off_t)l->pos);
	if (got <= 0)
		return 0;
	count_marks(l);
	rc = l->o.timestamps ? send_timed(l, chunk, (size_t)got)
			     : send(l, chunk, (size_t)got);
	l->pos += got;
	return rc ? -1 : 1;
}

static bool is_over(const struct podlog *l)
{
	cleanup_json cJSON *pod = apiserver_get(l->api, "v1", "Pod", l->ns, l->name);
	const cJSON *c = pod_container_status(pod, l->o.container);

	return l->end >= 0 || !pod || !str_eq(meta_uid(pod), l->uid) ||
	       !json_get(c, "state", "running");
}

static void stream_log(void *ctx, struct httpd_stream *out)
{
	struct podlog *l = ctx;
	bool over = !l->o.follow;

	l->out = out;
	for (;;) {
		int rc;

		while ((rc = send_more(l)) > 0)
			;
		if (rc < 0 || over)
			return;
		over = is_over(l);
		if (!over && !httpd_listens(out))
			return;
		if (!over)
			clock_sleep_ms(LOOK_MS);
	}
}

static void release(void *ctx)
{
	struct podlog *l = ctx;

	if (l->fd >= 0)
		close(l->fd);
	if (l->marks_fd >= 0)
		close(l->marks_fd);
	arena_clear(&l->arena);
	free(l);
}

static int open_file(struct podlog *l, const char *dir, const char *end)
{
	return open(arena_printf(&l->arena, "%s/%s.%s", dir, l->o.container, end),
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* Was the log removed? A container that did not start has written none. */
static bool is_gone(const struct podlog *l, const char *dir)
{
	return l->fd < 0 && (l->marks_fd >= 0 || !file_exists(dir));
}

int podlog_open(struct apiserver *api, const cJSON *pod, const struct log_options *o,
		struct httpd_response *resp, struct error *err)
{
	const char *dir = meta_annotation(pod, NODE_LOGS_ANNOTATION);
	struct podlog *l;

	if (!dir || strchr(o->container, '/'))
		return error_set(err, ERR_INVALID, "pod %s has no logs on this machine",
				 meta_name(pod));
	l = xcalloc(1, sizeof(*l));
	l->api = api;
	l->o = *o;
	l->o.container = arena_strdup(&l->arena, o->container);
	l->ns = arena_strdup(&l->arena, meta_namespace(pod));
	l->name = arena_strdup(&l->arena, meta_name(pod));
	l->uid = meta_uid(pod) ? arena_strdup(&l->arena, meta_uid(pod)) : NULL;
	l->left = o->limit;
	l->marks_fd = open_file(l, dir, "times");
	l->fd = open_file(l, dir, "log");
	if (l->fd < 0 && errno != ENOENT) {
		error_errno(err, errno, "the log of pod %s", meta_name(pod));
		release(l);
		return -1;
	}
	if (is_gone(l, dir)) {
		error_set(err, ERR_EXPIRED, "its log is gone: %s/%s.log: %s", dir,
			  l->o.container, strerror(ENOENT));
		err->code = 410;
		release(l);
		return -1;
	}
	begin(l);
	resp->stream = stream_log;
	resp->release = release;
	resp->stream_ctx = l;
	return 0;
}
