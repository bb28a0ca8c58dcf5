#include "local/memdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"

enum { TMPFS = 0x01021994 };
static const char shm[] = "/dev/shm";

static void remove_if_stale(struct arena *arena, const char *name)
{
	const char *path = path_join(arena, shm, name);
	cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	struct error err;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return;
	/* Just made, perhaps not locked yet. */
	if (time(NULL) - st.st_mtime < 5 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	if (dir_remove(path, &err) < 0)
		return; /* nobody's harm */
}

static void remove_stale(struct arena *arena, const char *prefix)
{
	DIR *d = opendir(shm);
	const struct dirent *e;

	while (d && (e = readdir(d)) != NULL)
		if (str_starts(e->d_name, prefix))
			remove_if_stale(arena, e->d_name);
	if (d)
		closedir(d);
}

const char *memdir_make(struct arena *arena, int *ret_lock)
{
	const char *prefix = arena_printf(arena, "kftrainer-%u-", (unsigned)geteuid());
	struct statfs fs;
	uint64_t number = 0;
	const char *path;
	int fd;

	if (statfs(shm, &fs) < 0 || (long)fs.f_type != TMPFS || access(shm, W_OK) < 0)
		return NULL;
	remove_stale(arena, prefix);
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (uint64_t)getpid();
	path = arena_printf(arena, "%s/%s%016llx", shm, prefix,
			    (unsigned long long)number);
	if (mkdir(path, 0700) < 0)
		return NULL;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (fd >= 0)
			close(fd);
		rmdir(path);
		return NULL;
	}
	*ret_lock = fd;
	return path;
}

void memdir_remove(const char *dir, int lock)
{
	struct error err;

	if (dir && dir_remove(dir, &err) < 0)
		err.kind = ERR_NONE; /* the next run will */
	if (lock >= 0)
		close(lock);
}
