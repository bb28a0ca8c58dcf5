/* output.c - write a log file and split the output into lines (kubelet/output.h). */
#include "kubelet/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum { RETRY_MS = 10 * 1000, LINE_MAX_BYTES = 100 };

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
	return open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* A full disk may have cut off the last record of an earlier start: it is removed. */
static int open_marks(const char *path)
{
	int fd = open_append(path);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	off_t rest = size % (off_t)sizeof(struct output_mark);

	if (!rest || !ftruncate(fd, size - rest))
		return fd;
	close(fd);
	return -1;
}

/* A full disk may have cut off the last line of an earlier start: a new one begins. */
static void end_line(struct output *o)
{
	char last = '\n';

	if (o->size > 0 && pread(o->fd, &last, 1, (off_t)o->size - 1) == 1 &&
	    last != '\n' && write(o->fd, "\n", 1) == 1)
		o->size++;
}

int output_open(struct output *o, const char *path, struct error *err)
{
	o->screen = (struct screen){ .on_line = o->on_line,
				     .ctx = o->ctx,
				     .max = OUTPUT_MAX_LINE,
				     .mark = SCREEN_CUT };
	o->unended = false;
	o->path = path;
	o->lost = 0;
	o->marks = -1;
	o->fd = open_append(path);
	if (o->fd < 0)
		return error_errno(err, errno, "%s", path);
	o->size = lseek(o->fd, 0, SEEK_END);
	end_line(o);
	if (o->marks_path)
		o->marks = open_marks(o->marks_path);
	mark(o, true);
	return 0;
}

static void say(struct output *o, const char *text)
{
	o->on_line(o->ctx, text, strlen(text));
}

/* After a failure, the file has an unknown part of what was written. */
static void find_size(struct output *o)
{
	off_t size = lseek(o->fd, 0, SEEK_END);

	o->size = size < 0 ? o->size : size;
}

/* Say in the file what is missing there. False: it cannot be written yet. */
static bool resume(struct output *o)
{
	char line[LINE_MAX_BYTES];
	int n = snprintf(line, sizeof(line),
			 "kftrainer: %lld bytes of output are missing here\n",
			 (long long)o->lost);

	o->retry_at = clock_ms() + RETRY_MS;
	find_size(o);
	end_line(o);
	if (file_write_fd(o->fd, line, (size_t)n, o->path, IGNORED)) {
		if (ftruncate(o->fd, o->size) < 0)
			find_size(o);
		return false;
	}
	o->size += n;
	o->lost = 0;
	if (o->marks < 0 && o->marks_path)
		o->marks = open_marks(o->marks_path);
	return true;
}

/* The end of a file that lacks some: what is missing is said in place of its last bytes. */
static void end_short(struct output *o)
{
	if (resume(o) || o->size < LINE_MAX_BYTES ||
	    ftruncate(o->fd, o->size - LINE_MAX_BYTES) < 0)
		return;
	o->lost += LINE_MAX_BYTES;
	(void)resume(o);
}

static void write_log(struct output *o, const char *data, size_t len)
{
	int64_t end;
	struct error err;

	if (o->fd < 0)
		return;
	if (o->lost && clock_ms() >= o->retry_at && resume(o))
		say(o, "kftrainer: the log file can be written again");
	if (o->lost) {
		o->lost += (int64_t)len;
		return;
	}
	mark(o, false);
	end = o->size + (int64_t)len;
	if (!file_write_fd(o->fd, data, len, o->path, &err)) {
		o->size = end;
		return;
	}
	find_size(o);
	o->lost = end > o->size ? end - o->size : 1;
	o->retry_at = clock_ms() + RETRY_MS;
	error_wrap(&err, "kftrainer: the log file cannot be written, the container "
			 "continues");
	say(o, err.msg);
}

void output_add(struct output *o, const char *data, size_t len)
{
	const char *state;
	size_t state_len;
	bool bar;

	write_log(o, data, len);
	o->unended = len > 0 ? data[len - 1] != '\n' : o->unended;
	screen_write(&o->screen, data, len);
	state = screen_state(&o->screen, &state_len, &bar);
	if (state)
		o->on_state(o->ctx, state, state_len, bar);
}

void output_close(struct output *o)
{
	if (o->fd >= 0 && o->lost)
		end_short(o);
	else if (o->unended)
		write_log(o, "\n", 1);
	o->unended = false;
	screen_end(&o->screen);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	if (o->marks >= 0)
		close(o->marks);
	o->marks = -1;
}
