/* Opens and reads files to upload, refusing changed ones; see put.h. */
#include "store/put.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/relpath.h"

static int fail_changed(const struct put_file *f, struct error *err)
{
	return error_set(
		err, ERR_CONFLICT,
		"%s changed during the upload; retry when no process writes to it",
		f->name);
}

static int check_unchanged(const struct put_file *f, int fd, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return error_errno(err, errno, "%s", f->name);
	return st.st_size == f->size && st.st_mtim.tv_sec == f->changed.tv_sec &&
			       st.st_mtim.tv_nsec == f->changed.tv_nsec
		       ? 0
		       : fail_changed(f, err);
}

int put_file_open(const struct put_file *f, int *ret_fd, struct error *err)
{
	cleanup_fd int fd = f->root < 0 ? open(f->name, O_RDONLY | O_CLOEXEC)
					: relpath_open(f->root, f->path, O_RDONLY, false);

	if (fd < 0)
		return error_errno(err, errno, "%s", f->name);
	if (check_unchanged(f, fd, err))
		return -1;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

int put_file_read(const struct put_file *f, int fd, int64_t at, void *data, size_t len,
		  struct error *err)
{
	for (size_t got = 0; got < len;) {
		ssize_t n = pread(fd, (char *)data + got, len - got, at + (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "%s", f->name);
		if (!n)
			return fail_changed(f, err);
		got += (size_t)n;
	}
	return check_unchanged(f, fd, err);
}
