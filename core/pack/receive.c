/* receive.c - stage files that a peer sends, then swap them (pack/receive.h). */
#include "pack/receive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/relpath.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum { PACKET = 64 * 1024, NUMBERS = 45, MARKER_MAX = 64 << 20, NAME_MAX_SIZE = 32 };

#define STAGE "stage"

/* ---- frames ---- */

void receive_header(unsigned char ret[FRAME_HEADER], char type, size_t len)
{
	ret[0] = (unsigned char)type;
	for (int i = 0; i < 4; i++)
		ret[1 + i] = (unsigned char)(len >> (24 - 8 * i));
}

uint32_t receive_number(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

int receive_next(struct receive_frame *ret, size_t *ret_used, const void *data,
		 size_t len, struct error *err)
{
	const unsigned char *p = data;
	size_t n;

	*ret_used = 0;
	if (len < FRAME_HEADER)
		return 0;
	n = receive_number(p + 1);
	if (n > FRAME_MAX)
		return error_set(err, ERR_FORMAT, "invalid frame of %zu bytes", n);
	if (len < FRAME_HEADER + n)
		return 0;
	*ret = (struct receive_frame){ (char)p[0], p + FRAME_HEADER, n };
	*ret_used = FRAME_HEADER + n;
	return 0;
}

/* ---- answers ---- */

static void answer(const struct received *r, char type, const void *data, size_t len)
{
	unsigned char packet[RECEIVE_ANSWER] = { (unsigned char)type };

	if (len > sizeof(packet) - 1)
		len = sizeof(packet) - 1;
	if (len)
		memcpy(packet + 1, data, len);
	while (send(r->fd, packet, len + 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void stage_name(char ret[NAME_MAX_SIZE], int64_t number)
{
	snprintf(ret, NAME_MAX_SIZE, "%lld", (long long)number);
}

/* ---- what is needed ---- */

static bool is_there(const struct received *r, const struct manifest_entry *e)
{
	cleanup_fd int fd = relpath_open(
		r->root, e->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, false);
	char digest[DIGEST_HEX_SIZE];
	struct stat st;
	int64_t size;

	return fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       st.st_size == e->size && !(st.st_mode & 0111) == !e->executable &&
	       !manifest_digest(fd, e->path, digest, &size, IGNORED) &&
	       str_eq(digest, e->digest);
}

static int open_stage(struct received *r, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *dir = path_join(&arena, r->dir, PACK_RECEIVED "/" STAGE);

	if (dir_remove(dir, err) || dir_make(dir, 0700, err))
		return -1;
	r->root = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r->stage = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return r->root < 0 || r->stage < 0 ? error_errno(err, errno, "%s", dir) : 0;
}

static int begin(struct received *r, struct error *err)
{
	unsigned char numbers[4 * NUMBERS];
	size_t n = 0;

	if (r->stage >= 0)
		return error_set(err, ERR_FORMAT, "a second list of files");
	if (open_stage(r, err) ||
	    manifest_parse(&r->manifest, r->text.len ? (const char *)r->text.data : "",
			   r->text.len, err))
		return -1;
	buf_release(&r->text);
	r->needed = xcalloc(r->manifest.n + 1, sizeof(*r->needed));
	for (size_t i = 0; i < r->manifest.n; i++) {
		const struct manifest_entry *e = &r->manifest.list[i];

		if (e->type != TAR_FILE || is_there(r, e))
			continue;
		r->needed[i] = true;
		for (int k = 0; k < 4; k++)
			numbers[n++] = (unsigned char)(i >> (24 - 8 * k));
		if (n == sizeof(numbers)) {
			answer(r, 'N', numbers, n);
			n = 0;
		}
	}
	if (n)
		answer(r, 'N', numbers, n);
	answer(r, 'E', NULL, 0);
	return 0;
}

/* ---- files ---- */

static int end_file(struct received *r, struct error *err)
{
	const struct manifest_entry *e;
	char digest[DIGEST_HEX_SIZE];
	int file = r->file;

	if (file < 0)
		return 0;
	r->file = -1;
	e = &r->manifest.list[r->number];
	if (close(file))
		return error_errno(err, errno, "%s", e->path);
	digest_end_hex(r->digest, digest);
	if (r->left || !str_eq(digest, e->digest))
		return error_set(err, ERR_CONFLICT,
				 "%s: changed while it was sent; run it again", e->path);
	return 0;
}

static int begin_file(struct received *r, const struct receive_frame *f,
		      struct error *err)
{
	const struct manifest_entry *e;
	char name[NAME_MAX_SIZE];

	if (end_file(r, err))
		return -1;
	if (r->stage < 0 || f->len != 4 || receive_number(f->data) >= r->manifest.n)
		return error_set(err, ERR_FORMAT, "not the number of a file");
	r->number = receive_number(f->data);
	if (!r->needed[r->number])
		return 0; /* another receiver needs it */
	e = &r->manifest.list[r->number];
	stage_name(name, r->number);
	r->left = e->size;
	r->file = openat(r->stage, name,
			 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			 e->executable ? 0755 : 0644);
	return r->file < 0 ? error_errno(err, errno, "%s", e->path) : 0;
}

static int add_data(struct received *r, const struct receive_frame *f, struct error *err)
{
	if (r->file < 0)
		return 0;
	if ((int64_t)f->len > r->left)
		return error_set(err, ERR_CONFLICT,
				 "%s: changed while it was sent; run it again",
				 r->manifest.list[r->number].path);
	r->left -= (int64_t)f->len;
	digest_add(r->digest, f->data, f->len);
	return file_write_fd(r->file, f->data, f->len, r->manifest.list[r->number].path,
			     err);
}

static int finish(struct received *r, struct error *err)
{
	if (end_file(r, err))
		return -1;
	if (r->stage < 0)
		return error_set(err, ERR_FORMAT, "no list of files");
	for (size_t i = 0; i < r->manifest.n; i++) {
		char name[NAME_MAX_SIZE];
		struct stat st;

		stage_name(name, (int64_t)i);
		if (r->needed[i] && fstatat(r->stage, name, &st, AT_SYMLINK_NOFOLLOW))
			return error_set(err, ERR_FORMAT, "%s: was not sent",
					 r->manifest.list[i].path);
	}
	r->staged = true;
	answer(r, 'K', NULL, 0);
	return 0;
}

/* ---- the stream ---- */

static int take(struct received *r, const struct receive_frame *f, struct error *err)
{
	switch (f->type) {
	case 'M':
		buf_add(&r->text, f->data, f->len);
		return buf_check(&r->text, "the list of files", err);
	case 'A':
		buf_add(&r->args, f->data, f->len);
		return buf_check(&r->args, "the arguments", err);
	case 'B':
		return begin(r, err);
	case 'F':
		return begin_file(r, f, err);
	case 'D':
		return add_data(r, f, err);
	case 'G':
		return finish(r, err);
	default:
		return error_set(err, ERR_FORMAT, "unknown frame");
	}
}

static int take_all(struct received *r, struct buf *in, struct error *err)
{
	size_t at = 0, used;
	struct receive_frame f;

	do {
		if (receive_next(&f, &used, in->data + at, in->len - at, err) ||
		    (used &&
		     (r->staged ? error_set(err, ERR_FORMAT, "frame after the end")
				: take(r, &f, err))))
			return -1;
		at += used;
	} while (used);
	buf_drop(in, at);
	return 0;
}

void receive_run(struct received *r)
{
	cleanup_free unsigned char *packet = xmalloc(PACKET);
	cleanup_buf struct buf in = { .max = PACKET + FRAME_HEADER + FRAME_MAX };
	struct error err = { 0 };
	ssize_t n;

	r->text.max = MANIFEST_TEXT;
	r->args.max = RECEIVE_ARGS;
	r->root = r->stage = r->file = -1;
	r->digest = digest_new(DIGEST_SHA256);
	while ((n = recv(r->fd, packet, PACKET, 0)) > 0 || (n < 0 && errno == EINTR)) {
		if (n < 0 || err.kind)
			continue;
		buf_add(&in, packet, (size_t)n);
		if (!take_all(r, &in, &err))
			continue;
		r->staged = false;
		answer(r, '!', err.msg, strlen(err.msg));
	}
}

void receive_release(struct received *r)
{
	cleanup_arena struct arena arena = { 0 };
	const int fds[] = { r->root, r->stage, r->file };

	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	(void)!dir_remove(path_join(&arena, r->dir, PACK_RECEIVED "/" STAGE), IGNORED);
	manifest_release(&r->manifest);
	free(r->needed);
	digest_free(r->digest);
	buf_release(&r->args);
	buf_release(&r->text);
}

/* ---- the swap ---- */

/* The directory of a path, without following links; *ret_name: the path's last part. */
static int open_parent(const struct received *r, const char *path, const char **ret_name)
{
	cleanup_arena struct arena arena = { 0 };

	*ret_name = path_base(path);
	return *ret_name == path
		       ? dup(r->root)
		       : relpath_open(r->root, path_dir(&arena, path),
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
				      false);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A directory stays if it has files of the job. */
static void remove_path(const struct received *r, const char *path)
{
	const char *name;
	cleanup_fd int at = open_parent(r, path, &name);

	if (at >= 0 && unlinkat(at, name, 0) && errno == EISDIR)
		unlinkat(at, name, AT_REMOVEDIR);
}

/* `old`: lines, directories before what they contain. */
static void remove_missing(const struct received *r, char *old, size_t len,
			   const char *const *paths)
{
	size_t n = r->manifest.n;
	char *end;

	for (; (end = memrchr(old, '\n', len)); len = (size_t)(end - old)) {
		char *path = end + 1; /* from the last one */

		*end = 0;
		if (!*path || relpath_check(path, IGNORED) ||
		    str_starts(path, MANIFEST_OURS))
			continue;
		if (!n || !bsearch(&path, paths, n, sizeof(*paths), by_path))
			remove_path(r, path);
	}
}

/* Python takes a compiled file for current if the source has its second and size. */
static void make_newer(const struct received *r, const char *staged, int at,
		       const char *name)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
	struct stat old, new;

	if (fstatat(at, name, &old, AT_SYMLINK_NOFOLLOW) ||
	    fstatat(r->stage, staged, &new, 0) || new.st_mtim.tv_sec > old.st_mtim.tv_sec)
		return;
	times[1].tv_sec = old.st_mtim.tv_sec + 1;
	utimensat(r->stage, staged, times, 0);
}

static int put(const struct received *r, const char *staged, int at, const char *name)
{
	if (!renameat(r->stage, staged, at, name))
		return 0;
	return errno == EISDIR && !unlinkat(at, name, AT_REMOVEDIR)
		       ? renameat(r->stage, staged, at, name)
		       : -1;
}

static int put_link(const struct received *r, const struct manifest_entry *e, int at,
		    const char *name)
{
	char now[TAR_MAX_PATH + 1];
	ssize_t n = readlinkat(at, name, now, sizeof(now) - 1);

	if (n >= 0 && (size_t)n == strlen(e->target) &&
	    !memcmp(now, e->target, (size_t)n))
		return 0;
	return symlinkat(e->target, r->stage, "link") || put(r, "link", at, name) ? -1
										  : 0;
}

static int put_folder(int at, const char *name)
{
	struct stat st;

	if (!mkdirat(at, name, 0755))
		return 0;
	if (errno != EEXIST || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
		return -1;
	return S_ISDIR(st.st_mode)     ? 0
	       : unlinkat(at, name, 0) ? -1
				       : mkdirat(at, name, 0755);
}

static int place(const struct received *r, size_t number, struct error *err)
{
	const struct manifest_entry *e = &r->manifest.list[number];
	const char *name;
	cleanup_fd int at = open_parent(r, e->path, &name);
	char staged[NAME_MAX_SIZE];
	int rc = -1;

	stage_name(staged, (int64_t)number);
	if (at >= 0 && e->type == TAR_FOLDER) {
		rc = put_folder(at, name);
	} else if (at >= 0 && e->type == TAR_LINK) {
		rc = put_link(r, e, at, name);
	} else if (at >= 0 && r->needed[number]) {
		make_newer(r, staged, at, name);
		rc = put(r, staged, at, name);
	} else if (at >= 0) {
		return 0;
	}
	if (!rc)
		return 0;
	if (errno == ENOTEMPTY || errno == EEXIST)
		return error_set(err, ERR_CONFLICT,
				 "%s: a directory with files of the job is in its place",
				 e->path);
	return error_errno(err, errno, "%s", e->path);
}

/* The marker's first line, and the paths of this manifest. */
static int write_marker(const struct received *r, const struct buf *old,
			struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf text = { .max = MARKER_MAX };
	const char *end = old->len ? strchr((const char *)old->data, '\n') : NULL;

	if (end)
		buf_add(&text, old->data, (size_t)(end + 1 - (const char *)old->data));
	else
		buf_adds(&text, "received\n");
	for (size_t i = 0; i < r->manifest.n; i++)
		buf_printf(&text, "%s\n", r->manifest.list[i].path);
	if (buf_check(&text, PACK_MARKER, err))
		return -1;
	return file_write(path_join(&arena, r->dir, PACK_MARKER), text.data, text.len,
			  0644, err);
}

static const char **sorted_paths(struct arena *arena, const struct manifest *m)
{
	const char **paths = arena_alloc(arena, (m->n + 1) * sizeof(*paths));

	for (size_t i = 0; i < m->n; i++)
		paths[i] = m->list[i].path;
	if (m->n)
		qsort(paths, m->n, sizeof(*paths), by_path);
	return paths;
}

int receive_swap(struct received *r, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf old = { .max = MARKER_MAX };
	cleanup_fd int marker = openat(r->root, PACK_MARKER,
				       O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (!r->staged)
		return error_set(err, ERR_INVALID, "not everything was received");
	if (marker >= 0 && file_read_fd(&old, marker, PACK_MARKER, err))
		return -1;
	if (old.len && strchr((char *)old.data, '\n'))
		remove_missing(r, str_slice(&arena, (char *)old.data, old.len), old.len,
			       sorted_paths(&arena, &r->manifest));
	for (size_t i = 0; i < r->manifest.n; i++)
		if (place(r, i, err))
			return -1;
	return write_marker(r, &old, err);
}
