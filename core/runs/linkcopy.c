/* linkcopy.c - copy a checkpoint as hard links (runs/linkcopy.h). */
#include "runs/linkcopy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "runs/detect.h"

static bool link_entry(int from, const char *name, int to, int depth);

/* Closes both. */
static bool link_all(int from, int to, int depth)
{
	DIR *list = from >= 0 ? fdopendir(from) : NULL;
	bool ok = list && to >= 0 && depth <= DETECT_MAX_DEPTH;
	const struct dirent *e;

	while (ok && (e = dir_next(list)))
		if (detect_is_part(e->d_name))
			ok = link_entry(from, e->d_name, to, depth);
	ok = ok && !errno;
	if (list)
		closedir(list);
	else if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return ok;
}

static bool link_entry(int from, const char *name, int to, int depth)
{
	enum { HOW = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW))
		return false;
	if (detect_is_file(from, name, depth, &st))
		return !linkat(from, name, to, name, AT_SYMLINK_FOLLOW);
	if (!S_ISDIR(st.st_mode)) /* not uploaded; a link is logged */
		return !S_ISLNK(st.st_mode) || !linkat(from, name, to, name, 0);
	return !mkdirat(to, name, 0700) &&
	       link_all(openat(from, name, HOW), openat(to, name, HOW), depth + 1);
}

int linkcopy_create(int dir, const char *copy, const char *name)
{
	int fd = mkdirat(dir, copy, 0700)
			 ? -1
			 : openat(dir, copy,
				  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && !link_entry(dir, name, fd, 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void linkcopy_remove(const char *path, const char *copy)
{
	cleanup_arena struct arena arena = { 0 };

	(void)!dir_remove(path_join(&arena, path, copy), IGNORED);
}
