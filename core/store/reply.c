/* Parses the headers of a response to a range request: reply.h. */
#include "store/reply.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

enum { MAX_TAG = 1024, MAX_DATE = 100 };

static int broken(struct error *err, const char *what)
{
	return error_set(err, ERR_FORMAT, "invalid response: %s", what);
}

static int read_bytes(int64_t *ret, const char *text, struct error *err)
{
	if (str_int(ret, text, 0, INT64_MAX, IGNORED))
		return broken(err, "invalid length");
	return 0;
}

/* "bytes 0-99/1234", with * for an unknown size; of a 416 only the size. */
static int read_range(struct reply *r, const char *value, struct error *err)
{
	char from[24], to[24], total[24];
	bool some =
		sscanf(value, "bytes %23[0-9]-%23[0-9]/%23[0-9*]", from, to, total) == 3;

	r->from = r->to = r->total = -1;
	if (!some && sscanf(value, "bytes */%23[0-9]", total) != 1)
		return broken(err, "invalid Content-Range");
	if (some && (read_bytes(&r->from, from, err) || read_bytes(&r->to, to, err)))
		return -1;
	return str_eq(total, "*") ? 0 : read_bytes(&r->total, total, err);
}

/* The header is required to be valid only in a 206 and a 416. */
static int read_content_range(struct reply *r, int status, const char *value,
			      struct error *err)
{
	if (status == 206 || status == 416)
		return read_range(r, value, err);
	if (status == 200 && read_range(r, value, IGNORED))
		r->from = r->to = r->total = -1;
	return 0;
}

static int read_length(struct reply *r, const char *value, struct error *err)
{
	int64_t before = r->length;

	if (read_bytes(&r->length, value, err))
		return -1;
	return before >= 0 && before != r->length ? broken(err, "two lengths") : 0;
}

/* Without quotes it is not a valid ETag, but can be compared. */
static bool is_tag(const char *value)
{
	for (const char *p = value; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return false;
	return *value && strlen(value) < MAX_TAG;
}

static const char *encoding_of(struct arena *arena, const char *value)
{
	const char *rest = str_after(value, "x-");

	value = rest ? rest : value;
	if (!*value || !strcasecmp(value, "identity"))
		return NULL;
	return arena_strdup(arena, value);
}

bool reply_is_as_named(const struct reply *r, const char *path)
{
	static const struct {
		const char *encoding, *ending;
	} rows[] = {
		{ "gzip", ".gz" },    { "gzip", ".tgz" }, { "bzip2", ".bz2" },
		{ "zstd", ".zst" },   { "br", ".br" },    { "xz", ".xz" },
		{ "compress", ".Z" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (!strcasecmp(r->encoding, rows[i].encoding) &&
		    str_ends(path, rows[i].ending))
			return true;
	return false;
}

/*
 * ModelScope sends a range with status 200. A range of all bytes is what 200 says, and a
 * body of all bytes has the header of another response, as of a cache.
 */
static bool is_part(const struct reply *r)
{
	return r->from >= 0 && (r->from || r->to + 1 != r->total) &&
	       (r->total < 0 || r->length != r->total);
}

int reply_header(struct reply *r, struct arena *arena, int status, const char *name,
		 const char *value, struct error *err)
{
	r->status = status;
	if (!strcasecmp(name, "Content-Range") &&
	    read_content_range(r, status, value, err))
		return -1;
	if (!strcasecmp(name, "Content-Length") && read_length(r, value, err))
		return -1;
	if (status == 200 && is_part(r))
		r->status = 206;
	if (!strcasecmp(name, "ETag") && is_tag(value))
		r->etag = arena_strdup(arena, value);
	else if (!strcasecmp(name, "Last-Modified") && strlen(value) < MAX_DATE)
		r->modified = arena_strdup(arena, value);
	else if (!strcasecmp(name, "Content-Encoding"))
		r->encoding = encoding_of(arena, value);
	return 0;
}

static const char *opaque(const char *tag, size_t *ret_len)
{
	const char *strong = str_after(tag, "W/");
	size_t len;

	tag = strong ? strong : tag;
	len = strlen(tag);
	*ret_len = len;
	if (len < 2 || *tag != '"' || tag[len - 1] != '"')
		return tag;
	*ret_len -= 2;
	return tag + 1;
}

bool reply_same_tag(const char *a, const char *b)
{
	size_t n_a, n_b;

	a = opaque(a, &n_a);
	b = opaque(b, &n_b);
	return n_a == n_b && !memcmp(a, b, n_a);
}
