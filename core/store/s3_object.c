#include "store/s3_object.h"

#include <ctype.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cloud/xml.h"
#include "net/uri.h"

enum { MAX_PAGE = 10000, MAX_PAGES = 20000, MD5_HEX = 32, MAX_PARTS = 10000 };

/* ---- listings ---- */

struct reading {
	struct arena *arena;
	struct s3_page page;
	struct s3_entry entry; /* the one that is being read */
	bool escaped, is_listing;
};

static const char *unquoted(struct arena *arena, const char *s)
{
	size_t len = strlen(s);

	if (len >= 2 && s[0] == '"' && s[len - 1] == '"')
		return str_slice(arena, s + 1, len - 2);
	return arena_strdup(arena, s);
}

static void add(struct reading *r)
{
	struct s3_page *p = &r->page;
	struct s3_entry *more;

	if (p->n == p->cap) {
		more = arena_alloc(r->arena, (p->cap ? 2 * p->cap : 64) * sizeof(*more));
		if (p->n)
			memcpy(more, p->entries, p->n * sizeof(*more));
		p->entries = more;
		p->cap = p->cap ? 2 * p->cap : 64;
	}
	p->entries[p->n++] = r->entry;
}

static int end_entry(struct reading *r, struct error *err)
{
	if (!r->entry.key || r->entry.size < 0)
		return error_set(err, ERR_FORMAT, "an object without %s",
				 r->entry.key ? "a size" : "a key");
	if (r->page.n == MAX_PAGE)
		return error_set(err, ERR_LIMIT, "more than %d objects in a page",
				 MAX_PAGE);
	add(r);
	r->entry = (struct s3_entry){ .size = -1, .etag = "" };
	return 0;
}

static int on_end(void *ctx, const char *path, const char *text, struct error *err)
{
	struct reading *r = ctx;

	if (!strcmp(path, "Contents/Key"))
		r->entry.key = arena_strdup(r->arena, text);
	else if (!strcmp(path, "Contents/Size"))
		return str_int(&r->entry.size, text, 0, INT64_MAX, err);
	else if (!strcmp(path, "Contents/ETag"))
		r->entry.etag = unquoted(r->arena, text);
	else if (!strcmp(path, "Contents"))
		return end_entry(r, err);
	else if (!strcmp(path, "EncodingType"))
		r->escaped = !strcasecmp(text, "url");
	else if (!strcmp(path, "IsTruncated"))
		r->page.truncated = !strcasecmp(text, "true");
	else if (!strcmp(path, "NextContinuationToken") && *text)
		r->page.next = arena_strdup(r->arena, text);
	if (!strcmp(path, "IsTruncated") || !strcmp(path, "KeyCount"))
		r->is_listing = true;
	return 0;
}

/* encoding-type=url is that of forms: a '+' is a blank. */
static int decode_keys(struct reading *r, struct error *err)
{
	for (size_t i = 0; i < r->page.n; i++) {
		char *key = arena_strdup(r->arena, r->page.entries[i].key);

		for (char *p = key; *p; p++)
			if (*p == '+')
				*p = ' ';
		if (uri_decode(&r->page.entries[i].key, r->arena, key, err))
			return -1;
	}
	return 0;
}

int s3_page_read(struct s3_page *ret, struct arena *arena, const void *data, size_t len,
		 struct error *err)
{
	struct reading r = { .arena = arena, .entry = { .size = -1, .etag = "" } };
	const struct xml_reader reader = { on_end, &r };

	if (xml_read(data, len, &reader, err))
		return -1;
	if (!r.is_listing && !r.page.n)
		return error_set(err, ERR_FORMAT, "not a listing of S3");
	if (r.escaped && decode_keys(&r, err))
		return -1;
	*ret = r.page;
	return 0;
}

static int ask_page(struct s3_bucket *b, const char *prefix, const char *token,
		    struct http_response *resp, struct error *err)
{
	const struct sigv4_pair query[] = {
		{ "encoding-type", "url" },
		{ "list-type", "2" },
		{ "prefix", prefix },
		{ token ? "continuation-token" : NULL, token },
		{ NULL, NULL },
	};
	const struct s3_request req = { .method = "GET", .query = query };
	cleanup_arena struct arena arena = { 0 };

	if (s3_bucket_ask(b, &req, resp, err))
		return -1;
	if (resp->status != 200 || *aws_error_read(&arena, &resp->body).code)
		return s3_bucket_refused(b, NULL, resp->status, &resp->body, err);
	return 0;
}

int s3_list(struct s3_bucket *b, const char *prefix,
	    int (*each)(void *ctx, const struct s3_entry *e, struct error *err),
	    void *ctx, struct error *err)
{
	cleanup_free char *token = NULL;

	for (int pages = 0; pages < MAX_PAGES; pages++) {
		cleanup_http_response struct http_response resp = { 0 };
		cleanup_arena struct arena arena = { 0 };
		struct s3_page page;

		if (ask_page(b, prefix, token, &resp, err))
			return -1;
		if (s3_page_read(&page, &arena, resp.body.data, resp.body.len, err))
			return error_wrap(err, "the list of the bucket");
		for (size_t i = 0; i < page.n; i++)
			if (each(ctx, &page.entries[i], err))
				return -1;
		if (!page.truncated)
			return 0;
		if (!page.next || str_eq(page.next, token))
			return error_set(err, ERR_FORMAT,
					 "the list of the bucket does not go on: the "
					 "server says there is more, and not where");
		free(token);
		token = xstrdup(page.next);
	}
	return error_set(err, ERR_LIMIT, "the list of the bucket has more than %d pages",
			 MAX_PAGES);
}

/* ---- one object ---- */

int s3_etag_parts(const char *etag)
{
	struct error ignored = { 0 };
	int64_t n = 0;

	for (int i = 0; i < MD5_HEX; i++)
		if (!isxdigit((unsigned char)etag[i]))
			return -1;
	if (!etag[MD5_HEX])
		return 0;
	if (etag[MD5_HEX] != '-' ||
	    str_int(&n, etag + MD5_HEX + 1, 1, MAX_PARTS, &ignored))
		return -1;
	return (int)n;
}

/* S3 writes checksums in base64; "...-3" is one of parts. */
static void take_checksum(char ret[S3_SUM_SIZE], size_t digits, const char *value)
{
	cleanup_buf struct buf raw = { .max = 64 }, text = { .max = 128 };
	struct error ignored = { 0 };

	if (strchr(value, '-') || base64_decode(&raw, value, strlen(value), &ignored) ||
	    raw.len * 2 != digits)
		return;
	hex_encode(&text, raw.data, raw.len);
	snprintf(ret, S3_SUM_SIZE, "%s", (const char *)text.data);
}

/* Those that are looked at, the ones liked best first. */
static const struct {
	const char *header;
	enum store_digest digest;
	size_t digits;
} checksums[] = {
	{ "x-amz-checksum-sha256", STORE_SHA256, 64 },
	{ "x-amz-checksum-crc64nvme", STORE_CRC64NVME, 16 },
	{ "x-amz-checksum-crc32c", STORE_CRC32C, 8 },
	{ "x-amz-checksum-crc32", STORE_CRC32, 8 },
};

enum { N_CHECKSUMS = sizeof(checksums) / sizeof(*checksums) };

struct heard {
	struct s3_head head;
	bool composite;
	char sums[N_CHECKSUMS][S3_SUM_SIZE]; /* hex; or "" */
};

static void on_size(struct heard *h, const char *value)
{
	struct error ignored = { 0 };

	if (str_int(&h->head.size, value, 0, INT64_MAX, &ignored))
		h->head.size = -1;
}

static void on_parts(struct heard *h, const char *value)
{
	struct error ignored = { 0 };

	if (str_int(&h->head.parts, value, 1, MAX_PARTS, &ignored))
		h->head.parts = 0;
}

static void on_etag(struct heard *h, const char *value)
{
	size_t len = strlen(value);

	if (len > 2 && len < sizeof(h->head.etag) && value[0] == '"')
		snprintf(h->head.etag, len - 1, "%s", value + 1);
}

static void on_type(struct heard *h, const char *value)
{
	h->composite = !strcasecmp(value, "COMPOSITE");
}

static void on_class(struct heard *h, const char *value)
{
	if (!strcasecmp(value, "EXPRESS_ONEZONE"))
		h->head.etag_is_sum = false;
}

static void on_encryption(struct heard *h, const char *value)
{
	if (!strncasecmp(value, "aws:kms", 7))
		h->head.etag_is_sum = false;
}

static void on_customer_key(struct heard *h, const char *value)
{
	(void)value;
	h->head.etag_is_sum = false;
}

static const struct {
	const char *name;
	void (*take)(struct heard *h, const char *value);
} fields[] = {
	{ "Content-Length", on_size },
	{ "ETag", on_etag },
	{ "x-amz-mp-parts-count", on_parts },
	{ "x-amz-checksum-type", on_type },
	{ "x-amz-storage-class", on_class },
	{ "x-amz-server-side-encryption", on_encryption },
	{ "x-amz-server-side-encryption-customer-algorithm", on_customer_key },
};

static void on_header(void *ctx, const char *name, const char *value)
{
	struct heard *h = ctx;

	for (size_t i = 0; i < N_CHECKSUMS; i++)
		if (!strcasecmp(name, checksums[i].header))
			take_checksum(h->sums[i], checksums[i].digits, value);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (!strcasecmp(name, fields[i].name))
			fields[i].take(h, value);
}

/* One of parts is of no use where parts are fetched as ranges of other sizes. */
static void choose_checksum(struct heard *h)
{
	for (size_t i = 0; i < N_CHECKSUMS && !h->composite; i++)
		if (*h->sums[i]) {
			h->head.digest = checksums[i].digest;
			snprintf(h->head.sum, sizeof(h->head.sum), "%s", h->sums[i]);
			return;
		}
}

int s3_head(struct s3_head *ret, struct s3_bucket *b, const char *key, int part,
	    struct error *err)
{
	char number[16];
	const struct sigv4_pair query[] = { { part ? "partNumber" : NULL, number },
					    { NULL, NULL } };
	static const struct sigv4_pair headers[] = { { "x-amz-checksum-mode", "ENABLED" },
						     { NULL, NULL } };
	struct heard heard = { .head = { .size = -1, .etag_is_sum = true } };
	const struct s3_request req = { .method = "HEAD",
					.key = key,
					.query = query,
					.headers = headers,
					.on_header = on_header,
					.ctx = &heard };
	cleanup_http_response struct http_response resp = { 0 };

	snprintf(number, sizeof(number), "%d", part);
	if (s3_bucket_ask(b, &req, &resp, err))
		return -1;
	choose_checksum(&heard);
	heard.head.status = resp.status;
	*ret = heard.head;
	return 0;
}
