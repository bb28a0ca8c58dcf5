/* undolog.c - record what a run creates elsewhere, and remove it (kubelet/undolog.h). */
#include "kubelet/undolog.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"

enum { MAX_LOG = 4 << 20 };

static const char *log_path(struct arena *a, const char *dir)
{
	return path_join(a, dir, "leftovers");
}

/* Append a line: the kind, a blank, the path, a tab, the source. */
void undolog_add(const char *dir, enum undo_kind kind, const char *path,
		 const char *source)
{
	cleanup_arena struct arena a = { 0 };
	const char *line;

	if (!dir || strpbrk(path, "\t\n") || strpbrk(source, "\t\n"))
		return;
	cleanup_fd int fd =
		open(log_path(&a, dir),
		     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	line = arena_printf(&a, "%c %s\t%s\n", kind, path, source);
	if (fd >= 0)
		(void)!file_write_fd(fd, line, strlen(line), dir, IGNORED);
}

bool undolog_exists(const char *dir)
{
	cleanup_arena struct arena a = { 0 };

	return file_exists(log_path(&a, dir));
}

static void remove_link(const char *path, const char *source)
{
	char leads[PATH_MAX];
	ssize_t n = readlink(path, leads, sizeof(leads) - 1);

	if (n < 0)
		return;
	leads[n] = 0;
	if (str_eq(leads, source))
		unlink(path);
}

/* Remove the group and its children, which are empty once their processes have ended. */
static void remove_cgroup(const char *path)
{
	cleanup_arena struct arena a = { 0 };
	DIR *d = opendir(path);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (*e->d_name == 'c')
			rmdir(path_join(&a, path, e->d_name));
	if (d)
		closedir(d);
	rmdir(path);
}

/* False: a control group remains, because its processes have not ended yet. */
static bool undo_line(struct arena *a, const char *line)
{
	const char *tab = strchr(line, '\t'), *path = line + 2;

	if (!tab || tab < path || line[1] != ' ' || *path != '/')
		return true;
	path = str_slice(a, path, (size_t)(tab - path));
	if (*line == UNDO_LINK)
		remove_link(path, tab + 1);
	else if (*line == UNDO_DIR)
		rmdir(path);
	else if (*line == UNDO_CGROUP)
		remove_cgroup(path);
	return *line != UNDO_CGROUP || !file_exists(path);
}

void undolog_run(const char *dir)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf text = { .max = MAX_LOG };
	bool all = true;
	size_t n = 0;
	char **lines;

	if (!undolog_exists(dir))
		return;
	if (!file_read(&text, log_path(&a, dir), IGNORED) && text.data) {
		lines = str_split(&a, (const char *)text.data, '\n', &n);
		while (n > 0)
			all &= undo_line(&a, lines[--n]);
	}
	if (all)
		unlink(log_path(&a, dir));
}
