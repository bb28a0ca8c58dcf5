/* manifest.c - make and read the list of a directory's files (pack/manifest.h). */
#include "pack/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/relpath.h"
#include "base/str.h"

enum { PIECE = 64 * 1024, HEX = 64 };

int manifest_digest(int fd, const char *name, char ret[DIGEST_HEX_SIZE],
		    int64_t *ret_size, struct error *err)
{
	cleanup_digest struct digest *d = digest_new(DIGEST_SHA256);
	int64_t size = 0;

	for (;;) {
		unsigned char piece[PIECE];
		ssize_t n = read(fd, piece, sizeof(piece));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "%s", name);
		if (!n)
			break;
		digest_add(d, piece, (size_t)n);
		size += n;
	}
	digest_end_hex(d, ret);
	*ret_size = size;
	return 0;
}

/* ---- make ---- */

static int add_file(struct buf *text, int root, const struct tar_entry *e,
		    struct error *err)
{
	cleanup_fd int fd = openat(root, e->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char digest[DIGEST_HEX_SIZE];
	int64_t size;

	if (fd < 0)
		return error_errno(err, errno, "%s", e->path);
	if (manifest_digest(fd, e->path, digest, &size, err))
		return -1;
	buf_printf(text, "%c %lld %s %s\n", e->executable ? 'x' : 'f', (long long)size,
		   digest, e->path);
	return 0;
}

static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return true;
	return false;
}

static int add(struct buf *text, int root, const struct tar_entry *e, struct error *err)
{
	if (e->type == TAR_FILE)
		return add_file(text, root, e, err);
	if (e->type == TAR_FOLDER)
		buf_printf(text, "d %s\n", e->path);
	else if (has_control(e->target))
		return error_set(err, ERR_INVALID,
				 "%s: the target of this link has control characters",
				 e->path);
	else
		buf_printf(text, "l %s\t%s\n", e->path, e->target);
	return 0;
}

int manifest_make(struct buf *text, const char *path,
		  const struct exclude_includes *includes, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct pack_opts opts = { .limits = MANIFEST_LIMITS, .includes = *includes };
	const char *dir = path;
	cleanup_fd int root = -1;
	struct tar_entry *list;
	struct stat st;
	size_t n;

	if (!stat(path, &st) && S_ISREG(st.st_mode)) {
		dir = path_dir(&arena, path);
		opts.only = path_base(path);
	}
	root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return error_errno(err, errno, "%s", path);
	if (pack_list(dir, &opts, &arena, &list, &n, err))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (add(text, root, &list[i], err))
			return error_wrap(err, "%s", dir);
	return buf_check(text, "the list of files", err);
}

/* ---- parse ---- */

/* The next word of a line, which ends with a space. */
static const char *word(char **line)
{
	char *start = *line, *end = strchr(start, ' ');

	if (!end)
		return NULL;
	*end = 0;
	*line = end + 1;
	return start;
}

static int parse_file(struct manifest_entry *e, char *line, struct error *err)
{
	const char *size = word(&line);

	e->digest = word(&line);
	e->path = line;
	if (!size || !e->digest || str_int(&e->size, size, 0, MANIFEST_BYTES, IGNORED) ||
	    strlen(e->digest) != HEX || strspn(e->digest, "0123456789abcdef") != HEX)
		return error_set(err, ERR_FORMAT, "invalid line in a list of files");
	return 0;
}

static int depth_of(const char *path)
{
	int depth = 0;

	while ((path = strchr(path, '/'))) {
		depth++;
		path++;
	}
	return depth;
}

static int parse_link(struct manifest_entry *e, char *line, struct error *err)
{
	char *tab = strchr(line, '\t');

	if (!tab)
		return error_set(err, ERR_FORMAT, "invalid link in a list of files");
	*tab = 0;
	e->path = line;
	e->target = tab + 1;
	if (strlen(e->target) > TAR_MAX_PATH ||
	    !pack_link_stays(e->target, depth_of(e->path)))
		return error_set(err, ERR_INVALID,
				 "%.200s: symbolic link leaves the directory", e->path);
	return 0;
}

static int parse_line(struct manifest_entry *e, char *line, struct error *err)
{
	int rc = 0;
	char type = line[0];

	if (!type || line[1] != ' ')
		return error_set(err, ERR_FORMAT, "invalid line in a list of files");
	line += 2;
	e->executable = type == 'x';
	e->type = type == 'd' ? TAR_FOLDER : type == 'l' ? TAR_LINK : TAR_FILE;
	if (type == 'f' || type == 'x')
		rc = parse_file(e, line, err);
	else if (type == 'l')
		rc = parse_link(e, line, err);
	else if (type == 'd')
		e->path = line;
	else
		rc = error_set(err, ERR_FORMAT, "unknown entry in a list of files");
	if (rc || relpath_check(e->path, err))
		return -1;
	return str_starts(e->path, MANIFEST_OURS)
		       ? error_set(err, ERR_INVALID, "%.200s: reserved name", e->path)
		       : 0;
}

static size_t count_lines(const char *text, size_t len)
{
	size_t n = 0;

	for (const char *p = text, *end = text + len;
	     (p = memchr(p, '\n', (size_t)(end - p))); p++)
		n++;
	return n;
}

int manifest_parse(struct manifest *ret, const char *text, size_t len, struct error *err)
{
	size_t n = count_lines(text, len);
	int64_t bytes = 0;
	char *at;

	*ret = (struct manifest){ 0 };
	if (memchr(text, 0, len) || (len && text[len - 1] != '\n'))
		return error_set(err, ERR_FORMAT, "not a list of files");
	if (n > MANIFEST_ENTRIES)
		return error_set(err, ERR_LIMIT, "more than %d files", MANIFEST_ENTRIES);
	ret->list = arena_alloc(&ret->arena, (n + 1) * sizeof(*ret->list));
	at = str_slice(&ret->arena, text, len);
	for (; ret->n < n; ret->n++) {
		struct manifest_entry *e = &ret->list[ret->n];
		char *end = strchr(at, '\n');

		*end = 0;
		*e = (struct manifest_entry){ 0 };
		if (parse_line(e, at, err))
			return -1;
		bytes += e->size;
		if (bytes > MANIFEST_BYTES)
			return error_set(err, ERR_LIMIT, "more than %d MiB in all files",
					 MANIFEST_BYTES >> 20);
		at = end + 1;
	}
	return 0;
}

void manifest_release(struct manifest *m)
{
	arena_clear(&m->arena);
	*m = (struct manifest){ 0 };
}
