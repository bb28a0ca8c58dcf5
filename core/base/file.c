#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

int file_read_fd(struct buf *out, int fd, const char *name, struct error *err)
{
	char chunk[32 * 1024];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "%s", name);
		if (!n)
			return 0;
		buf_add(out, chunk, (size_t)n);
		if (buf_check(out, name, err))
			return -1;
	}
}

int file_read(struct buf *out, const char *path, struct error *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	return file_read_fd(out, fd, path, err);
}

int file_write_fd(int fd, const void *data, size_t len, const char *name,
		  struct error *err)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "%s", name);
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Everything up to the rename. */
static int write_temporary(int fd, const char *path, struct iovec_ro data, mode_t mode,
			   struct error *err)
{
	if (file_write_fd(fd, data.p, data.len, path, err))
		return -1;
	if (fchmod(fd, mode) || fsync(fd))
		return error_errno(err, errno, "%s", path);
	return 0;
}

int file_write(const char *path, const void *data, size_t len, mode_t mode,
	       struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	char *temp = arena_printf(&a, "%s.XXXXXX", path);
	cleanup_fd int fd = mkostemp(temp, O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	if (write_temporary(fd, path, (struct iovec_ro){ data, len }, mode, err)) {
		unlink(temp);
		return -1;
	}
	if (rename(temp, path)) {
		error_errno(err, errno, "%s", path);
		unlink(temp);
		return -1;
	}
	return 0;
}
