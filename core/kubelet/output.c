/* output.c - write a log file and split the output into lines (kubelet/output.h). */
#include "kubelet/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

static void mark(struct output *o, bool begins)
{
	struct output_mark m = { .offset = o->size, .begins = begins };
	struct timespec now;

	if (o->marks < 0)
		return;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	m.time_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	if (file_write_fd(o->marks, &m, sizeof(m), o->marks_path, IGNORED)) {
		close(o->marks);
		o->marks = -1;
	}
}

static int open_append(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int output_open(struct output *o, const char *path, struct error *err)
{
	o->line.max = OUTPUT_MAX_LINE;
	o->cut = o->unended = false;
	o->path = path;
	o->marks = -1;
	o->fd = open_append(path);
	if (o->fd < 0)
		return error_errno(err, errno, "%s", path);
	o->size = lseek(o->fd, 0, SEEK_END);
	if (o->marks_path)
		o->marks = open_append(o->marks_path);
	mark(o, true);
	return 0;
}

static void write_log(struct output *o, const char *data, size_t len)
{
	struct error err;

	if (o->fd < 0)
		return;
	mark(o, false);
	o->size += (int64_t)len;
	if (file_write_fd(o->fd, data, len, o->path, &err) == 0)
		return;
	close(o->fd);
	o->fd = -1;
	error_wrap(&err, "kftrainer: log file ends here, the container continues");
	o->on_line(o->ctx, err.msg, strlen(err.msg));
}

/* Pass the buffered line to the callback. */
static void end_line(struct output *o)
{
	o->on_line(o->ctx, o->line.data ? (const char *)o->line.data : "", o->line.len);
	buf_clear(&o->line);
	o->cut = false;
}

static void add_piece(struct output *o, const char *data, size_t len)
{
	size_t room = OUTPUT_MAX_LINE - o->line.len;

	if (!o->cut)
		buf_add(&o->line, data, len < room ? len : room);
	if (len > room)
		o->cut = true;
}

void output_add(struct output *o, const char *data, size_t len)
{
	const char *end = data + len;

	write_log(o, data, len);
	o->unended = len > 0 ? end[-1] != '\n' : o->unended;
	while (data < end) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));
		size_t piece = (size_t)((newline ? newline : end) - data);

		if (newline && !o->line.len && piece <= OUTPUT_MAX_LINE) {
			o->on_line(o->ctx, data, piece);
		} else {
			add_piece(o, data, piece);
			if (!newline)
				return;
			end_line(o);
		}
		data = newline + 1;
	}
}

void output_close(struct output *o)
{
	if (o->unended) {
		write_log(o, "\n", 1);
		end_line(o);
		o->unended = false;
	}
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	if (o->marks >= 0)
		close(o->marks);
	o->marks = -1;
	buf_release(&o->line);
}
