/* disk.c - files that survive a crash up to their last sync, or further (disk.h). */
#include "tests/sim/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "base/xmalloc.h"
#include "tests/sim/threads.h"

enum { FIRST_FD = 200000, FDS = 512, NAMES = 3, INODES = 64, SYNC_MS = 40 };

struct inode {
	char *data;
	size_t len, cap;
	size_t synced; /* bytes that are on the disk for certain, but for those */
	size_t lost; /* from here on, if not 0: a sync failed, and none tries them again */
};

static const char *const names[NAMES] = { "lock", "objects", "objects.new" };

static struct {
	struct sim *sim;
	int fail;
	bool failed;
	struct inode inodes[INODES];
	int n_inodes;
	int now[NAMES], durable[NAMES]; /* the inode of each name; -1: there is none */
	struct {
		int inode; /* -1: the directory */
		size_t pos;
	} fds[FDS];
	int n_fds;
} disk;

void disk_start(struct sim *s)
{
	for (int i = 0; i < disk.n_inodes; i++)
		free(disk.inodes[i].data);
	memset(&disk, 0, sizeof(disk));
	disk.sim = s;
	for (int i = 0; i < NAMES; i++)
		disk.now[i] = disk.durable[i] = -1;
}

void disk_fail(int n)
{
	disk.fail = n;
}

bool disk_failed(void)
{
	return disk.failed;
}

static bool fails(void)
{
	bool now = disk.fail && sim_dice(disk.sim, 1000) >= 1000 - disk.fail;

	disk.failed |= now;
	if (now)
		sim_note(disk.sim, "the disk fails");
	return now;
}

/* ---- a crash ---- */

/* Of what was not synced, a part in the middle is not there, and what follows is. */
static void tear(struct inode *f)
{
	size_t left = f->len - f->synced;
	size_t from = f->synced + (size_t)sim_dice(disk.sim, (int64_t)left);
	size_t n = (size_t)sim_dice(disk.sim, (int64_t)(f->len - from));

	memset(f->data + from, sim_dice(disk.sim, 2) ? 'x' : 0, n);
	f->synced = f->len;
}

static void lose(struct inode *f)
{
	size_t written = f->len, kept;

	if (!f->lost && written > f->synced && sim_dice(disk.sim, 4) == 3) {
		tear(f);
		return;
	}

	kept = f->synced + (size_t)sim_dice(disk.sim, (int64_t)(written - f->synced) + 1);
	kept = f->lost && f->lost < kept ? f->lost : kept;
	f->lost = 0;
	f->len = kept;
	if (kept < written && sim_dice(disk.sim, 4) == 3) {
		f->len = kept + (size_t)sim_dice(disk.sim, (int64_t)(written - kept));
		memset(f->data + kept, sim_dice(disk.sim, 2) ? 'x' : 0, f->len - kept);
	}
	f->synced = f->len;
}

void disk_crash(bool power)
{
	disk.n_fds = 0;
	disk.failed = false;
	if (!power)
		return;
	if (sim_dice(disk.sim, 2))
		memcpy(disk.durable, disk.now, sizeof(disk.now));
	else
		memcpy(disk.now, disk.durable, sizeof(disk.now));
	for (int i = 0; i < disk.n_inodes; i++)
		lose(&disk.inodes[i]);
}

bool disk_rot(void)
{
	const struct inode *f = disk.now[1] < 0 ? NULL : &disk.inodes[disk.now[1]];

	if (!f || f->len < 200)
		return false;
	f->data[sim_dice(disk.sim, (int64_t)f->len - 100)] ^= 1 << sim_dice(disk.sim, 8);
	return true;
}

/* ---- descriptors ---- */

bool disk_has(int fd)
{
	return fd >= FIRST_FD && fd < FIRST_FD + disk.n_fds;
}

static int new_fd(int inode)
{
	if (disk.n_fds == FDS)
		abort();
	disk.fds[disk.n_fds].inode = inode;
	disk.fds[disk.n_fds].pos = 0;
	return FIRST_FD + disk.n_fds++;
}

static struct inode *file_of(int fd)
{
	return &disk.inodes[disk.fds[fd - FIRST_FD].inode];
}

static int find_name(const char *name)
{
	for (int i = 0; i < NAMES; i++)
		if (str_eq(names[i], name))
			return i;
	abort();
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	if (disk.sim && str_eq(path, DISK_DIR))
		return new_fd(-1);
	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	return __real_open(path, flags, mode);
}

int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...)
{
	int *inode = &disk.now[find_name(path)];

	if (*inode < 0) {
		if (disk.n_inodes == INODES)
			abort();
		*inode = disk.n_inodes++;
	}
	if (flags & O_TRUNC)
		disk.inodes[*inode] = (struct inode){ .data = disk.inodes[*inode].data,
						      .cap = disk.inodes[*inode].cap };
	return new_fd(*inode);
}

int disk_close(int fd)
{
	return 0;
}

ssize_t disk_read(int fd, void *data, size_t len)
{
	const struct inode *f = file_of(fd);
	size_t *pos = &disk.fds[fd - FIRST_FD].pos, left = f->len - *pos;

	len = len < left ? len : left;
	if (len)
		memcpy(data, f->data + *pos, len);
	*pos += len;
	return (ssize_t)len;
}

/* A write that fails may have written a part. */
ssize_t disk_write(int fd, const void *data, size_t len)
{
	struct inode *f = file_of(fd);
	size_t *pos = &disk.fds[fd - FIRST_FD].pos;
	bool bad = fails();

	if (bad && thread_runs())
		thread_pause(sim_dice(disk.sim, SYNC_MS));
	if (bad)
		len = (size_t)sim_dice(disk.sim, (int64_t)len);
	if (*pos + len > f->len) {
		if (*pos + len > f->cap)
			f->data = xreallocarray(f->data, f->cap = 2 * (*pos + len), 1);
		f->len = *pos + len;
	}
	if (len)
		memcpy(f->data + *pos, data, len);
	*pos += len;
	if (bad && len && sim_dice(disk.sim, 2)) /* the rest fails the next time */
		return (ssize_t)len;
	errno = ENOSPC;
	return bad ? -1 : (ssize_t)len;
}

off_t __real_lseek(int fd, off_t to, int from);
off_t __wrap_lseek(int fd, off_t to, int from);
off_t __wrap_lseek(int fd, off_t to, int from)
{
	if (!disk_has(fd))
		return __real_lseek(fd, to, from);
	disk.fds[fd - FIRST_FD].pos = (size_t)to;
	return to;
}

int __real_fstat(int fd, struct stat *ret);
int __wrap_fstat(int fd, struct stat *ret);
int __wrap_fstat(int fd, struct stat *ret)
{
	if (!disk_has(fd))
		return __real_fstat(fd, ret);
	memset(ret, 0, sizeof(*ret));
	ret->st_mode = S_IFREG | 0600;
	ret->st_size = (off_t)file_of(fd)->len;
	return 0;
}

int __real_ftruncate(int fd, off_t len);
int __wrap_ftruncate(int fd, off_t len);
int __wrap_ftruncate(int fd, off_t len)
{
	struct inode *f;

	if (!disk_has(fd)) /* what counts coverage */
		return __real_ftruncate(fd, len);
	f = file_of(fd);
	if (fails()) {
		errno = EIO;
		return -1;
	}
	f->len = (size_t)len < f->len ? (size_t)len : f->len;
	f->synced = f->synced < f->len ? f->synced : f->len;
	f->lost = f->lost < f->len ? f->lost : 0;
	return 0;
}

int __wrap_flock(int fd, int how);
int __wrap_flock(int fd, int how)
{
	return 0;
}

/* ---- what makes it last ---- */

static int sync_file(int fd)
{
	struct inode *f = file_of(fd);
	size_t written = f->len;
	bool bad = fails();

	if (thread_runs())
		thread_pause(sim_dice(disk.sim, SYNC_MS));
	errno = EIO;
	written = written < f->len ? written : f->len;
	if (bad && !f->lost)
		f->lost = f->synced;
	if (bad)
		return -1;
	f->synced = written > f->synced ? written : f->synced;
	return 0;
}

int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	return sync_file(fd);
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	if (disk.fds[fd - FIRST_FD].inode >= 0)
		return sync_file(fd);
	errno = EIO;
	if (fails())
		return -1;
	memcpy(disk.durable, disk.now, sizeof(disk.now));
	return 0;
}

int __wrap_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat(int from, const char *old, int to, const char *new)
{
	disk.now[find_name(new)] = disk.now[find_name(old)];
	disk.now[find_name(old)] = -1;
	return 0;
}

int __wrap_unlinkat(int dir, const char *name, int flags);
int __wrap_unlinkat(int dir, const char *name, int flags)
{
	disk.now[find_name(name)] = -1;
	return 0;
}
