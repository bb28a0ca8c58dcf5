/* s3_list.c - list a bucket and parse the pages of ListObjectsV2 (s3_list.h). */
#include "store/s3_list.h"

#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cloud/xml.h"
#include "net/uri.h"

enum { MAX_PAGE = 10000, MAX_PAGES = 20000 };

struct reading {
	struct arena *arena;
	struct s3_page page;
	struct s3_entry entry; /* the entry being read */
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
		return error_set(err, ERR_FORMAT, "object without %s",
				 r->entry.key ? "a size" : "a key");
	if (r->page.n == MAX_PAGE)
		return error_set(err, ERR_LIMIT, "page exceeds %d objects", MAX_PAGE);
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

/* encoding-type=url is form encoding: '+' is a blank. */
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
		return error_set(err, ERR_FORMAT, "not an S3 listing");
	if (r.escaped && decode_keys(&r, err))
		return -1;
	*ret = r.page;
	return 0;
}

/* Where a page begins. */
struct place {
	char *token; /* of the page before; NULL: none */
	char *after; /* its last key, of a server that knows ListObjects only; or NULL */
};

static void place_release(struct place *p)
{
	free(p->token);
	free(p->after);
}

static int get_page(struct s3_bucket *b, const char *prefix, const struct place *at,
		    struct http_response *resp, struct error *err)
{
	const char *name = at->token ? "continuation-token" : at->after ? "marker" : NULL;
	const struct sigv4_pair query[] = {
		{ "encoding-type", "url" },
		{ "list-type", "2" },
		{ "prefix", prefix },
		{ name, at->token ? at->token : at->after },
		{ NULL, NULL },
	};
	const struct s3_request req = { .method = "GET", .query = query };
	cleanup_arena struct arena arena = { 0 };

	if (s3_bucket_send(b, &req, resp, err))
		return -1;
	if (resp->status != 200 || *aws_error_read(&arena, &resp->body).code)
		return s3_bucket_refused(b, NULL, resp->status, &resp->body, err);
	return 0;
}

static int go_on(struct place *at, const struct s3_page *page, struct error *err)
{
	const char *last = page->n ? page->entries[page->n - 1].key : NULL;
	bool has_token = page->next && !str_eq(page->next, at->token);
	bool has_key = !page->next && !at->token && last && !str_eq(last, at->after);

	if (!has_token && !has_key)
		return error_set(err, ERR_FORMAT,
				 "listing the bucket: truncated, but without a "
				 "continuation token");
	place_release(at);
	*at = (struct place){ .token = has_token ? xstrdup(page->next) : NULL,
			      .after = has_token ? NULL : xstrdup(last) };
	return 0;
}

int s3_list(struct s3_bucket *b, const char *prefix,
	    int (*each)(void *ctx, const struct s3_entry *e, struct error *err),
	    void *ctx, struct error *err)
{
	__attribute__((cleanup(place_release))) struct place at = { 0 };

	for (int pages = 0; pages < MAX_PAGES; pages++) {
		cleanup_http_response struct http_response resp = { 0 };
		cleanup_arena struct arena arena = { 0 };
		struct s3_page page;

		if (get_page(b, prefix, &at, &resp, err))
			return -1;
		if (s3_page_read(&page, &arena, resp.body.data, resp.body.len, err))
			return error_wrap(err, "listing the bucket");
		for (size_t i = 0; i < page.n; i++)
			if (store_check_prefix(page.entries[i].key, prefix, err) ||
			    each(ctx, &page.entries[i], err))
				return -1;
		if (!page.truncated)
			return 0;
		if (go_on(&at, &page, err))
			return -1;
	}
	return error_set(err, ERR_LIMIT, "listing the bucket: more than %d pages",
			 MAX_PAGES);
}
