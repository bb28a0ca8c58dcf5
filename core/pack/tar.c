/* Reads and writes tar headers; see tar.h. */
#include "pack/tar.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

#define PAX_NAME "pax" /* name of the entry that holds the pax header */

enum { MAX_PAX = 4 * TAR_MAX_PATH };

struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8];
	char type, linkname[100], magic[6], version[2], uname[32], gname[32];
	char devmajor[8], devminor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == TAR_BLOCK, "a header is a block");

static const unsigned char zeros[TAR_BLOCK];
static const char types[] = { [TAR_FILE] = '0', [TAR_FOLDER] = '5', [TAR_LINK] = '2' };

int64_t tar_padding(int64_t size)
{
	return -size & (TAR_BLOCK - 1);
}

/* ---- writing ---- */

/* Does a value fit a header field, with or without a trailing NUL? */
static bool needs_pax(const char *text)
{
	return text && strlen(text) > sizeof(((struct header *)0)->name);
}

static bool size_needs_pax(int64_t size)
{
	return size > 077777777777;
}

static void put_octal(char *field, size_t size, int64_t v)
{
	for (size_t i = size - 1; i-- > 0; v >>= 3)
		field[i] = (char)('0' + (v & 7));
}

static void put_text(char *field, size_t size, const char *text)
{
	size_t len = strlen(text);

	memcpy(field, text, len < size ? len : size);
}

static unsigned checksum(const struct header *h)
{
	const unsigned char *p = (const unsigned char *)h;
	unsigned sum = 0;

	for (size_t i = 0; i < TAR_BLOCK; i++) {
		bool own = i >= offsetof(struct header, checksum) &&
			   i < offsetof(struct header, type);

		sum += own ? ' ' : p[i];
	}
	return sum;
}

static void add_block(struct buf *out, char type, const char *name, const char *target,
		      int64_t size, int mode)
{
	struct header h = { .type = type, .magic = "ustar", .version = { '0', '0' } };

	put_text(h.name, sizeof(h.name), name);
	put_text(h.linkname, sizeof(h.linkname), target ? target : "");
	put_octal(h.mode, sizeof(h.mode), mode);
	put_octal(h.uid, sizeof(h.uid), 0);
	put_octal(h.gid, sizeof(h.gid), 0);
	put_octal(h.size, sizeof(h.size), size_needs_pax(size) ? 0 : size);
	put_octal(h.mtime, sizeof(h.mtime), 0);
	put_octal(h.checksum, sizeof(h.checksum) - 1, checksum(&h));
	h.checksum[7] = ' ';
	buf_add(out, &h, sizeof(h));
}

/* "<length> <key>=<value>\n", where the length counts its own digits. */
static void add_record(struct buf *out, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, len = rest + 1;
	char digits[24];

	while ((size_t)snprintf(digits, sizeof(digits), "%zu", len) + rest > len)
		len++;
	buf_printf(out, "%zu %s=", len, key);
	buf_adds(out, value);
	buf_adds(out, "\n");
}

static void add_records(struct buf *out, const struct tar_entry *e)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, e->size);
	if (needs_pax(e->target))
		add_record(out, "linkpath", e->target);
	if (needs_pax(e->path))
		add_record(out, "path", e->path);
	if (size_needs_pax(e->size))
		add_record(out, "size", digits);
}

void tar_header(struct buf *out, const struct tar_entry *e)
{
	cleanup_buf struct buf pax = { .max = MAX_PAX };
	bool open = e->executable || e->type != TAR_FILE;

	add_records(&pax, e);
	if (pax.len) {
		add_block(out, 'x', PAX_NAME, NULL, (int64_t)pax.len, 0644);
		buf_add(out, pax.data, pax.len);
		buf_add(out, zeros, (size_t)tar_padding((int64_t)pax.len));
	}
	add_block(out, types[e->type], e->path, e->target, e->size,
		  e->type == TAR_LINK ? 0777
		  : open              ? 0755
				      : 0644);
}

int64_t tar_header_size(const struct tar_entry *e)
{
	cleanup_buf struct buf all = { .max = 2 * MAX_PAX };

	tar_header(&all, e);
	return (int64_t)all.len;
}

/* ---- reading ---- */

/* Read exactly len bytes; *ret_none: the source ended before the first. */
static int read_full(struct tar_reader *r, void *data, size_t len, bool *ret_none,
		     struct error *err)
{
	size_t have = 0, n = 1;

	while (have < len && n) {
		if (r->read(r->ctx, (char *)data + have, len - have, &n, err))
			return -1;
		have += n;
	}
	*ret_none = have == 0;
	if (have && have < len)
		return error_set(err, ERR_FORMAT, "tar: truncated");
	return 0;
}

static int pass_over(struct tar_reader *r, int64_t n, struct error *err)
{
	unsigned char piece[TAR_BLOCK * 8];
	bool none = false;

	for (; n > 0 && !none; n -= (int64_t)sizeof(piece))
		if (read_full(r, piece,
			      n < (int64_t)sizeof(piece) ? (size_t)n : sizeof(piece),
			      &none, err))
			return -1;
	return none ? error_set(err, ERR_FORMAT, "tar: truncated") : 0;
}

/* Octal digits up to the field's end, a space or NUL. */
static int get_octal(int64_t *ret, const char *field, size_t size, struct error *err)
{
	int64_t v = 0;
	size_t i = 0;

	for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
		v = v * 8 + (field[i] - '0');
	if (i < size && field[i] && field[i] != ' ')
		return error_set(err, ERR_FORMAT, "tar: invalid number in a header");
	*ret = v;
	return 0;
}

static int check_header(const struct header *h, struct error *err)
{
	int64_t sum = 0;

	if (memcmp(h->magic, "ustar", 6) != 0)
		return error_set(err, ERR_FORMAT, "tar: not a POSIX header");
	if (get_octal(&sum, h->checksum, sizeof(h->checksum), err))
		return -1;
	if (sum != checksum(h))
		return error_set(err, ERR_FORMAT, "tar: wrong header checksum");
	return 0;
}

static int set_pax(struct arena *arena, struct tar_entry *e, const char *key,
		   const char *value, size_t len, struct error *err)
{
	char *text = str_slice(arena, value, len);

	if (memchr(value, 0, len))
		return error_set(err, ERR_FORMAT, "tar: NUL in a pax header");
	if (str_eq(key, "path"))
		e->path = text;
	else if (str_eq(key, "linkpath"))
		e->target = text;
	else if (str_eq(key, "size"))
		return str_int(&e->size, text, 0, INT64_MAX / 2, err)
			       ? error_wrap(err, "tar: size")
			       : 0;
	return 0;
}

/* Read one record at *p and advance *p. */
static int read_record(struct arena *arena, struct tar_entry *e, const char **p,
		       const char *end, struct error *err)
{
	const char *start = *p, *space = memchr(start, ' ', (size_t)(end - start));
	const char *equals;
	int64_t len;

	if (!space || str_int(&len, str_slice(arena, start, (size_t)(space - start)), 1,
			      end - start, err))
		return error_set(err, ERR_FORMAT, "tar: wrong pax header length");
	end = start + len;
	equals = space < end ? memchr(space, '=', (size_t)(end - space)) : NULL;
	if (!equals || end[-1] != '\n')
		return error_set(err, ERR_FORMAT, "tar: invalid pax header");
	*p = end;
	return set_pax(arena, e,
		       str_slice(arena, space + 1, (size_t)(equals - space - 1)),
		       equals + 1, (size_t)(end - 1 - equals - 1), err);
}

static int read_pax(struct tar_reader *r, struct arena *arena, int64_t size,
		    struct tar_entry *e, struct error *err)
{
	char *text;
	const char *p;
	bool none;

	if (size > MAX_PAX)
		return error_set(err, ERR_LIMIT, "tar: pax header exceeds %d bytes",
				 MAX_PAX);
	if (!size)
		return 0;
	p = text = arena_alloc(arena, (size_t)size + 1);
	if (read_full(r, text, (size_t)size, &none, err))
		return -1;
	if (none)
		return error_set(err, ERR_FORMAT, "tar: truncated");
	while (p < text + size)
		if (read_record(arena, e, &p, text + size, err))
			return -1;
	return pass_over(r, tar_padding(size), err);
}

static const char *full_name(struct arena *arena, const struct header *h)
{
	const char *name = str_slice(arena, h->name, strnlen(h->name, sizeof(h->name)));
	size_t len = strnlen(h->prefix, sizeof(h->prefix));

	if (!len)
		return name;
	return arena_printf(arena, "%.*s/%s", (int)len, h->prefix, name);
}

static int set_type(struct tar_entry *e, char type, struct error *err)
{
	for (size_t i = 0; i < sizeof(types); i++)
		if (type == types[i] || (!type && types[i] == '0')) {
			e->type = (enum tar_type)i;
			return 0;
		}
	return error_set(err, ERR_UNSUPPORTED,
			 "tar: %s: not a file, directory or symbolic link", e->path);
}

static int finish(struct arena *arena, const struct header *h, struct tar_entry *e,
		  struct tar_reader *r, struct error *err)
{
	size_t len;
	int64_t mode = 0;

	if (!e->path)
		e->path = full_name(arena, h);
	if (set_type(e, h->type, err) || get_octal(&mode, h->mode, sizeof(h->mode), err))
		return -1;
	len = strlen(e->path);
	if (e->type == TAR_FOLDER && len && e->path[len - 1] == '/')
		e->path = str_slice(arena, e->path, len - 1);
	if (e->type != TAR_LINK)
		e->target = NULL;
	else if (!e->target)
		e->target = str_slice(arena, h->linkname,
				      strnlen(h->linkname, sizeof(h->linkname)));
	if (len > TAR_MAX_PATH || (e->target && strlen(e->target) > TAR_MAX_PATH))
		return error_set(err, ERR_LIMIT, "tar: name exceeds %d bytes",
				 TAR_MAX_PATH);
	if (e->type != TAR_FILE && e->size)
		return error_set(err, ERR_FORMAT, "tar: %s: only files may have content",
				 e->path);
	e->executable = mode & 0100;
	r->left = e->size;
	r->padding = tar_padding(e->size);
	return 0;
}

int tar_next(struct tar_reader *r, struct arena *arena, struct tar_entry *ret,
	     bool *ret_end, struct error *err)
{
	struct tar_entry e = { .size = -1 };
	struct header h;
	int64_t size = 0;

	*ret_end = false;
	if (pass_over(r, r->left + r->padding, err))
		return -1;
	r->left = r->padding = 0;
	for (bool pax = false;; pax = true) {
		bool none;

		if (read_full(r, &h, sizeof(h), &none, err))
			return -1;
		if (none)
			return error_set(err, ERR_FORMAT, "tar: truncated");
		if (!pax && !memcmp(&h, zeros, sizeof(h))) {
			*ret_end = true;
			return 0;
		}
		if (check_header(&h, err) ||
		    get_octal(&size, h.size, sizeof(h.size), err))
			return -1;
		if (h.type != 'x')
			break;
		if (pax)
			return error_set(err, ERR_FORMAT, "tar: two pax headers");
		if (read_pax(r, arena, size, &e, err))
			return -1;
	}
	if (e.size < 0)
		e.size = size;
	if (finish(arena, &h, &e, r, err))
		return -1;
	*ret = e;
	return 0;
}

int tar_read(struct tar_reader *r, void *data, size_t len, size_t *ret_len,
	     struct error *err)
{
	*ret_len = 0;
	if (!r->left)
		return 0;
	if (len > (uint64_t)r->left)
		len = (size_t)r->left;
	if (r->read(r->ctx, data, len, ret_len, err))
		return -1;
	if (!*ret_len)
		return error_set(err, ERR_FORMAT, "tar: truncated");
	r->left -= (int64_t)*ret_len;
	return 0;
}
