/* state_metrics.c - store and read the reports of runs (local/state_metrics.h). */
#include "local/state_metrics.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "local/state_impl.h"

enum { CHUNK = 256 * 1024, MAX_LINE = 64 * 1024, MAX_FILE = 64 * 1024 * 1024 };

void state_metrics_add(const struct state_run *run, const cJSON *report)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf line = { .max = MAX_LINE };
	cleanup_fd int fd =
		open(path_join(&a, run->dir, STATE_METRICS),
		     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;

	json_print(&line, report);
	buf_adds(&line, "\n");
	if (fd >= 0 && !line.overflowed && !fstat(fd, &st) && st.st_size < MAX_FILE)
		(void)!file_write_fd(fd, line.data, line.len, STATE_METRICS, IGNORED);
}

void state_metrics_add_now(const struct state_run *run, const cJSON *progress)
{
	cleanup_json cJSON *report = json_dup(progress);
	char text[TIME_TEXT_SIZE];

	json_put_str(report, time_micro_now(text), "time");
	state_metrics_add(run, report);
}

size_t state_metrics_lines(const char *text, size_t len,
			   void (*each)(void *ctx, const cJSON *report), void *ctx)
{
	const char *at = text, *end;

	while ((end = memchr(at, '\n', len - (size_t)(at - text)))) {
		cleanup_json cJSON *report = NULL;

		if (end - at < CHUNK &&
		    !json_parse(&report, at, (size_t)(end - at), IGNORED) &&
		    cJSON_IsObject(report))
			each(ctx, report);
		at = end + 1;
	}
	return (size_t)(at - text);
}

bool state_metrics_each(const char *ns, const char *name, int64_t at[2],
			void (*each)(void *ctx, const cJSON *report), void *ctx)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_fd int fd = -1;
	const char *dir, *run;
	char *text;
	struct stat st;
	ssize_t n;

	if (state_dir(&a, &dir, ns, name, IGNORED))
		return false;
	run = state_newest(&a, dir);
	fd = run ? open(path_join(&a, run, STATE_METRICS),
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
		 : -1;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	if (at[0] != (int64_t)st.st_ino) {
		at[0] = (int64_t)st.st_ino;
		at[1] = 0;
	}
	text = arena_alloc(&a, CHUNK);
	while ((n = pread(fd, text, CHUNK, at[1])) > 0) {
		size_t read = state_metrics_lines(text, (size_t)n, each, ctx);

		if (!read)
			break;
		at[1] += (int64_t)read;
	}
	return true;
}
