/* local.c - volumes and shared memory of this node (nodecheck/nodecheck.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/random.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "nodecheck/nodecheck.h"

#define SHM "/dev/shm"

enum { FILE_BYTES = 1024 * 1024, BLOCK = 64 * 1024 };

static const char *remedy(int errnum)
{
	switch (errnum) {
	case ENOSPC:
	case EDQUOT:
		return ": make room, or use a larger volume";
	case EROFS:
		return ": mount it read-only on purpose, or use another volume";
	case EACCES:
	case EPERM:
		return ": set fsGroup, or the user of the pod";
	default:
		return "";
	}
}

static int fail(struct error *err, const char *what)
{
	int errnum = errno;

	return error_set(err, ERR_IO, "cannot %s a file: %s%s", what, strerror(errnum),
			 remedy(errnum));
}

static void fill(unsigned char *block, size_t at)
{
	for (size_t i = 0; i < BLOCK; i++)
		block[i] = (unsigned char)((at + i) * 131 >> 3);
}

static int write_all(int fd, struct error *err)
{
	cleanup_free unsigned char *block = xmalloc(BLOCK);

	for (size_t at = 0; at < FILE_BYTES; at += BLOCK) {
		fill(block, at);
		for (size_t done = 0; done < BLOCK;) {
			ssize_t n = write(fd, block + done, BLOCK - done);

			if (n < 0)
				return fail(err, "write");
			done += (size_t)n;
		}
	}
	return fsync(fd) && errno != EINVAL ? fail(err, "write") : 0;
}

static int read_all(int fd, struct error *err)
{
	cleanup_free unsigned char *want = xmalloc(BLOCK), *got = xmalloc(BLOCK);

	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	for (size_t at = 0; at < FILE_BYTES; at += BLOCK) {
		fill(want, at);
		for (size_t done = 0; done < BLOCK;) {
			ssize_t n =
				pread(fd, got + done, BLOCK - done, (off_t)(at + done));

			if (n < 0)
				return fail(err, "read");
			if (!n)
				return error_set(err, ERR_IO,
						 "a file ends before its end");
			done += (size_t)n;
		}
		if (memcmp(want, got, BLOCK))
			return error_set(
				err, ERR_IO,
				"a file was read back wrong: replace the volume");
	}
	return 0;
}

static int try(const char *dir, const char *node, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	char chance[RANDOM_KEY_SIZE]; /* a check that was killed leaves its file */
	const char *path;
	cleanup_fd int fd = -1;
	int rc;

	if (random_key(chance, err))
		return -1;
	path = arena_printf(&arena, "%s/.kftrainer-preflight-%s-%.16s", dir, node,
			    chance);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(err, "create");
	rc = write_all(fd, err) || read_all(fd, err) ? -1 : 0;
	if (unlink(path) && !rc)
		return fail(err, "remove");
	return rc;
}

void nodecheck_mounts(struct nodecheck *c, const char *const *paths, size_t n,
		      const char *node)
{
	for (size_t i = 0; i < n; i++) {
		struct nodecheck_row row = { .check = "mounts",
					     .device = paths[i],
					     .message = "written, read, removed" };
		struct error err = { 0 };

		row.bad = try(paths[i], node, &err) != 0;
		if (row.bad)
			row.message = err.msg;
		c->report(c->ctx, &row);
	}
}

void nodecheck_shm(struct nodecheck *c, int64_t bytes)
{
	struct nodecheck_row row = { .check = "shm",
				     .message = "as large as was asked",
				     .unit = "MiB",
				     .expected = (double)bytes / 1024 / 1024 };
	struct statvfs fs;

	if (statvfs(SHM, &fs)) {
		row.bad = true;
		row.message = "there is no " SHM;
		row.unit = NULL;
	} else {
		row.value = (double)fs.f_blocks * (double)fs.f_frsize / 1024 / 1024;
		row.bad = row.value < row.expected;
	}
	if (row.bad && row.unit)
		row.message = SHM " is smaller than was asked: mount an emptyDir of "
				  "medium Memory there, and raise the memory limit";
	if (row.bad)
		row.device = SHM;
	c->report(c->ctx, &row);
}
