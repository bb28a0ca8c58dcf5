/* Unpacks an archive into a directory, and nothing outside it; see pack.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/relpath.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/zstd.h"
#include "crypto/digest.h"
#include "pack/pack.h"
#include "pack/tar.h"

enum { PIECE = 64 * 1024, MARKER_MAX = 200, PATHS_MAX = 64 << 20 };

#define DONE "unpacked"

struct unpacker {
	int fd, root;
	const struct unpack_opts *opts;
	struct pack_summary summary;
	struct zstd_reader *zstd;
	unsigned char *piece;
	struct buf paths; /* of all entries, a line each */
};

static mode_t mode_of(const struct unpacker *u, bool executable)
{
	mode_t mode = executable ? 0755 : 0644;

	return u->opts->shared ? mode | 022 : mode;
}

/* ---- the digest ---- */

static int read_fd(int fd, void *data, size_t len, size_t *ret_len, struct error *err)
{
	ssize_t n;

	do
		n = read(fd, data, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, errno, "reading the archive");
	*ret_len = (size_t)n;
	return 0;
}

static int check_digest(struct unpacker *u, struct error *err)
{
	cleanup_digest struct digest *d = digest_new(DIGEST_SHA256);
	size_t n = 1;

	if (lseek(u->fd, 0, SEEK_SET) < 0)
		return error_errno(err, errno, "reading the archive");
	while (n) {
		if (read_fd(u->fd, u->piece, PIECE, &n, err))
			return -1;
		digest_add(d, u->piece, n);
		u->summary.size += (int64_t)n;
	}
	digest_end_hex(d, u->summary.digest);
	if (!str_eq(u->summary.digest, u->opts->digest))
		return error_set(err, ERR_FORMAT,
				 "the archive is not the one that was submitted: SHA-256 "
				 "%s, expected %.64s",
				 u->summary.digest, u->opts->digest);
	if (lseek(u->fd, 0, SEEK_SET) < 0)
		return error_errno(err, errno, "reading the archive");
	return 0;
}

/* ---- the directory ---- */

static int write_marker(const struct unpacker *u, const char *state, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *text = arena_printf(&arena, "%s %s\n", state, u->opts->digest);
	cleanup_fd int fd =
		openat(u->root, PACK_MARKER,
		       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return error_errno(err, errno, "%s/" PACK_MARKER, u->opts->to);
	if (file_write_fd(fd, text, strlen(text), PACK_MARKER, err))
		return -1;
	return u->paths.overflowed
		       ? 0
		       : file_write_fd(fd, u->paths.data, u->paths.len, PACK_MARKER, err);
}

/* Read the marker, "unpacked <digest>\n"; *ret_there: it exists. */
static int read_marker(const struct unpacker *u, char text[MARKER_MAX], bool *ret_there,
		       struct error *err)
{
	cleanup_fd int fd = openat(u->root, PACK_MARKER,
				   O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	size_t n = 0;

	*ret_there = fd >= 0;
	if (fd < 0)
		return errno == ENOENT
			       ? 0
			       : error_errno(err, errno, "%s/" PACK_MARKER, u->opts->to);
	if (read_fd(fd, text, MARKER_MAX - 1, &n, err))
		return error_wrap(err, "%s/" PACK_MARKER, u->opts->to);
	text[n] = 0;
	return 0;
}

/* Empty the directory, or (`remove` false) check that it is. */
static int empty_folder(const struct unpacker *u, bool remove, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	DIR *d = opendir(u->opts->to);
	const struct dirent *e;
	int rc = 0;

	if (!d)
		return error_errno(err, errno, "%s", u->opts->to);
	while (!rc && (e = dir_next(d))) {
		if (str_eq(e->d_name, ".") || str_eq(e->d_name, "..") ||
		    str_eq(e->d_name, "lost+found"))
			continue;
		if (!remove)
			rc = error_set(err, ERR_EXISTS,
				       "%s: directory not empty (%.100s); use a new one",
				       u->opts->to, e->d_name);
		else if (!str_eq(e->d_name, PACK_MARKER))
			rc = dir_remove(path_join(&arena, u->opts->to, e->d_name), err);
	}
	if (!rc && errno)
		rc = error_errno(err, errno, "%s", u->opts->to);
	closedir(d);
	return rc;
}

static int prepare(struct unpacker *u, bool *ret_done, struct error *err)
{
	char text[MARKER_MAX] = "";
	const char *digest;
	bool begun;

	if (read_marker(u, text, &begun, err))
		return -1;
	digest = str_after(text, DONE " ");
	*ret_done = digest && str_starts(digest, u->opts->digest);
	if (*ret_done)
		return 0;
	if (digest)
		return error_set(err, ERR_EXISTS, "%s: contains another workspace",
				 u->opts->to);
	if (empty_folder(u, begun, err))
		return -1;
	return write_marker(u, "unpacking", err);
}

/* ---- entries ---- */

static int fail(const struct unpacker *u, const char *path, struct error *err)
{
	return error_errno(err, errno, "%s/%s", u->opts->to, path);
}

/* Open a directory in `at`, creating it if needed, without following links. */
static int enter(const struct unpacker *u, int at, const char *name, struct error *err)
{
	int fd;

	if (mkdirat(at, name, 0700) == 0) {
		fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && fchmod(fd, mode_of(u, true))) {
			fail(u, name, err);
			close(fd);
			return -1;
		}
	} else {
		fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	return fd < 0 ? fail(u, name, err) : fd;
}

/* The directory of the path's last component; *ret_depth: how many levels down. */
static int open_parent(const struct unpacker *u, const char *path, int *ret_depth,
		       struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	int at = dup(u->root);

	*ret_depth = 0;
	for (const char *slash; at >= 0 && (slash = strchr(path, '/'));
	     path = slash + 1, ++*ret_depth) {
		int next = enter(u, at, str_slice(&arena, path, (size_t)(slash - path)),
				 err);

		close(at);
		if (next < 0)
			return -1;
		at = next;
	}
	return at < 0 ? fail(u, path, err) : at;
}

static int write_bytes(struct unpacker *u, struct tar_reader *tar,
		       const struct tar_entry *e, int fd, struct error *err)
{
	size_t n = 1;

	while (n) {
		if (tar_read(tar, u->piece, PIECE, &n, err))
			return error_wrap(err, "%s", e->path);
		if (n && file_write_fd(fd, u->piece, n, e->path, err))
			return -1;
	}
	return fchmod(fd, mode_of(u, e->executable)) ? fail(u, e->path, err) : 0;
}

static int make(struct unpacker *u, struct tar_reader *tar, const struct tar_entry *e,
		struct error *err)
{
	const char *name = path_base(e->path);
	int depth;
	cleanup_fd int at = open_parent(u, e->path, &depth, err);
	cleanup_fd int fd = -1;

	if (at < 0)
		return -1;
	switch (e->type) {
	case TAR_FOLDER:
		fd = enter(u, at, name, err);
		return fd < 0 ? -1 : 0;
	case TAR_LINK:
		if (!pack_link_stays(e->target, depth))
			return error_set(err, ERR_INVALID,
					 "%s: symbolic link leaves the directory: %.200s",
					 e->path, e->target);
		return symlinkat(e->target, at, name) ? fail(u, e->path, err) : 0;
	default:
		fd = openat(at, name,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return fail(u, e->path, err);
		return write_bytes(u, tar, e, fd, err);
	}
}

static int check_entry(struct unpacker *u, const struct tar_entry *e, struct error *err)
{
	const struct pack_limits *limits = &u->opts->limits;

	if (relpath_check(e->path, err))
		return -1;
	if (str_eq(e->path, PACK_MARKER))
		return error_set(err, ERR_INVALID, "%s: reserved name", e->path);
	if (++u->summary.entries > limits->entries)
		return error_set(err, ERR_LIMIT, "more than %lld files",
				 (long long)limits->entries);
	if (e->size > limits->bytes - u->summary.bytes)
		return error_set(err, ERR_LIMIT, "%s: more than %lld bytes in total",
				 e->path, (long long)limits->bytes);
	u->summary.bytes += e->size;
	buf_printf(&u->paths, "%s\n", e->path);
	return 0;
}

static int read_archive(void *ctx, void *data, size_t len, size_t *ret_len,
			struct error *err)
{
	struct unpacker *u = ctx;

	return read_fd(u->fd, data, len, ret_len, err);
}

static int read_tar(void *ctx, void *data, size_t len, size_t *ret_len, struct error *err)
{
	struct unpacker *u = ctx;

	return zstd_read(u->zstd, data, len, ret_len, err);
}

static int extract(struct unpacker *u, struct error *err)
{
	const struct zstd_source from = { read_archive, u };
	struct tar_reader tar = { .read = read_tar, .ctx = u };
	bool end = false;

	if (zstd_reader_new(&u->zstd, &from, err))
		return -1;
	for (;;) {
		cleanup_arena struct arena arena = { 0 };
		struct tar_entry e;

		if (tar_next(&tar, &arena, &e, &end, err))
			return -1;
		if (end)
			return 0;
		if (check_entry(u, &e, err) || make(u, &tar, &e, err))
			return -1;
	}
}

static int unpack(struct unpacker *u, bool *ret_done_before, struct error *err)
{
	if (check_digest(u, err) || dir_make(u->opts->to, 0755, err))
		return -1;
	u->root = open(u->opts->to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (u->root < 0)
		return fail(u, "", err);
	if (prepare(u, ret_done_before, err))
		return -1;
	if (*ret_done_before)
		return 0;
	if (extract(u, err)) {
		struct error ignored = { 0 }; /* the next try empties the directory */

		if (!empty_folder(u, true, &ignored))
			unlinkat(u->root, PACK_MARKER, 0);
		return error_wrap(err, "unpacking into %s", u->opts->to);
	}
	/* otherwise a machine that crashes may keep the marker and lose the files */
	return syncfs(u->root) ? fail(u, "", err) : write_marker(u, DONE, err);
}

int unpack_folder(int fd, const struct unpack_opts *opts, struct pack_summary *ret,
		  bool *ret_done_before, struct error *err)
{
	cleanup_free unsigned char *piece = xmalloc(PIECE);
	struct unpacker u = { .fd = fd,
			      .root = -1,
			      .opts = opts,
			      .piece = piece,
			      .paths = { .max = PATHS_MAX } };
	int rc = unpack(&u, ret_done_before, err);

	zstd_reader_free(u.zstd);
	buf_release(&u.paths);
	if (u.root >= 0)
		close(u.root);
	if (!rc)
		*ret = u.summary;
	return rc;
}
