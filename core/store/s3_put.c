/* Sends PutObject and multipart uploads; see s3_put.h. */
#include "store/s3_put.h"

#include <strings.h>

#include "base/cleanup.h"
#include "base/stop.h"
#include "base/str.h"
#include "cloud/xml.h"
#include "crypto/digest.h"
#include "net/retry.h"
#include "store/s3_object.h"

enum { MAX_LISTS = 1000, MAX_COMPLETE = 4 * 1024 * 1024 };

struct headers {
	char etag[S3_ETAG_SIZE];
	bool no_sum; /* ETags are not MD5s */
};

static void on_header(void *ctx, const char *name, const char *value)
{
	struct headers *h = ctx;
	size_t len = strlen(value);

	if (!strcasecmp(name, "ETag") && len > 2 && len < S3_ETAG_SIZE && value[0] == '"')
		snprintf(h->etag, len - 1, "%s", value + 1);
	else if (!strcasecmp(name, "x-amz-server-side-encryption"))
		h->no_sum = !strncasecmp(value, "aws:kms", 7);
	else if (!strcasecmp(name, "x-amz-server-side-encryption-customer-algorithm"))
		h->no_sum = true;
}

/* A 200 with an <Error> body is an error, too, as of CompleteMultipartUpload. */
static int send_request(struct s3_bucket *b, const struct s3_request *req,
			struct http_response *ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct http_response resp = { 0 };

	if (s3_bucket_send(b, req, &resp, err))
		return -1;
	if (resp.status &&
	    (resp.status / 100 != 2 || *aws_error_read(&arena, &resp.body).code)) {
		s3_bucket_refused(b, req->key, resp.status, &resp.body, err);
		http_response_release(&resp);
		return -1;
	}
	*ret = resp;
	return 0;
}

/*
 * PUT, with the MD5 that buckets with Object Lock ask for, and where it is signed with the
 * body's SHA-256; the returned ETag must be its MD5, if it is a sum.
 */
static int put(struct s3_bucket *b, struct s3_request *req, const char *md5,
	       char ret_etag[S3_ETAG_SIZE], struct error *err)
{
	cleanup_http_response struct http_response resp = { 0 };
	cleanup_buf struct buf sum = { .max = 16 }, text = { .max = 25 };
	struct sigv4_pair headers[] = { { "content-md5", NULL }, { NULL, NULL } };
	char sha256[DIGEST_HEX_SIZE];
	struct headers heard = { 0 };

	if (hex_decode(&sum, md5, S3_MD5_SIZE - 1, err))
		return -1;
	base64_encode(&text, sum.data, sum.len);
	buf_adds(&text, "");
	headers[0].value = (const char *)text.data;
	req->headers = headers;
	req->method = "PUT";
	if (s3_bucket_signs(b))
		req->payload =
			digest_hex_of(DIGEST_SHA256, req->body, req->body_len, sha256);
	req->on_header = on_header;
	req->ctx = &heard;
	if (send_request(b, req, &resp, err))
		return -1;
	if (!heard.no_sum && s3_etag_parts(heard.etag) == 0 &&
	    strcasecmp(heard.etag, md5))
		return error_set(err, ERR_FORMAT,
				 "the server stored other bytes than were sent: its ETag "
				 "is not their MD5; is a proxy in between?");
	snprintf(ret_etag, S3_ETAG_SIZE, "%s", heard.etag);
	return 0;
}

int s3_put(struct s3_bucket *b, const char *key, const void *data, size_t len,
	   const char *md5, struct error *err)
{
	struct s3_request req = { .key = key, .body = data, .body_len = len };
	char etag[S3_ETAG_SIZE];

	return put(b, &req, md5, etag, err);
}

int s3_delete(struct s3_bucket *b, const char *key, struct error *err)
{
	const struct s3_request req = { .method = "DELETE", .key = key };
	cleanup_http_response struct http_response resp = { 0 };

	return send_request(b, &req, &resp, err);
}

/* ---- parts ---- */

struct listed {
	struct arena *arena;
	const char *id; /* NULL: none */
	struct s3_multipart *upload;
	int64_t number, size, next; /* next: -1, or the marker of the next page */
	const char *etag;
	bool truncated;
};

static int on_upload_id(void *ctx, const char *path, const char *text, struct error *err)
{
	struct listed *b = ctx;

	if (!strcmp(path, "UploadId") && *text)
		b->id = arena_strdup(b->arena, text);
	return 0;
}

static void take_part(struct listed *b)
{
	struct s3_multipart *u = b->upload;
	size_t len = b->etag ? strlen(b->etag) : 0;

	if (b->number >= 1 && b->number <= (int64_t)u->n && len > 2 &&
	    len < S3_ETAG_SIZE && b->size == u->parts[b->number - 1].size)
		snprintf(u->parts[b->number - 1].etag, len - 1, "%s", b->etag + 1);
	b->number = b->size = -1;
	b->etag = NULL;
}

static int on_parts(void *ctx, const char *path, const char *text, struct error *err)
{
	struct listed *b = ctx;

	if (!strcmp(path, "Part/PartNumber"))
		return str_int(&b->number, text, 1, S3_PARTS_MAX, err);
	if (!strcmp(path, "Part/Size"))
		return str_int(&b->size, text, 0, INT64_MAX, err);
	if (!strcmp(path, "Part/ETag"))
		b->etag = *text == '"' ? arena_strdup(b->arena, text)
				       : arena_printf(b->arena, "\"%s\"", text);
	else if (!strcmp(path, "IsTruncated"))
		b->truncated = !strcasecmp(text, "true");
	else if (!strcmp(path, "NextPartNumberMarker") && *text)
		return str_int(&b->next, text, 0, S3_PARTS_MAX, err);
	else if (!strcmp(path, "Part"))
		take_part(b);
	return 0;
}

static int list_parts(struct s3_multipart *u, struct listed *b, struct error *err)
{
	const struct xml_reader reader = { on_parts, b };
	char marker[24] = "0";
	const struct sigv4_pair query[] = { { "part-number-marker", marker },
					    { "uploadId", b->id },
					    { NULL, NULL } };
	const struct s3_request req = { .method = "GET", .key = u->key, .query = query };

	for (int i = 0; i < MAX_LISTS; i++) {
		cleanup_http_response struct http_response resp = { 0 };
		int64_t last = b->next;

		b->truncated = false;
		if (send_request(u->bucket, &req, &resp, err) ||
		    xml_read(resp.body.data, resp.body.len, &reader, err))
			return -1;
		if (!b->truncated || b->next <= last)
			return 0;
		snprintf(marker, sizeof(marker), "%d", (int)b->next);
	}
	return 0;
}

static int begin(struct s3_multipart *u, struct listed *b, struct error *err)
{
	static const struct sigv4_pair query[] = { { "uploads", "" }, { NULL, NULL } };
	const struct s3_request req = { .method = "POST", .key = u->key, .query = query };
	const struct xml_reader reader = { on_upload_id, b };
	cleanup_http_response struct http_response resp = { 0 };

	if (send_request(u->bucket, &req, &resp, err) ||
	    xml_read(resp.body.data, resp.body.len, &reader, err))
		return -1;
	return b->id ? 0 : error_set(err, ERR_FORMAT, "response without an UploadId");
}

int s3_multipart_begin(struct s3_multipart *u, const char *unfinished,
		       struct arena *arena, struct error *err)
{
	struct listed b = { .arena = arena,
			    .id = unfinished,
			    .upload = u,
			    .number = -1,
			    .size = -1,
			    .next = -1 };

	if (b.id && list_parts(u, &b, IGNORED))
		b.id = NULL;
	if (!b.id) {
		for (size_t i = 0; i < u->n; i++)
			u->parts[i].etag[0] = 0;
		if (begin(u, &b, err))
			return -1;
	}
	u->id = b.id;
	return 0;
}

int s3_multipart_abort(const struct s3_multipart *u, struct error *err)
{
	const struct sigv4_pair query[] = { { "uploadId", u->id }, { NULL, NULL } };
	const struct s3_request req = { .method = "DELETE",
					.key = u->key,
					.query = query };
	cleanup_http_response struct http_response resp = { 0 };

	return send_request(u->bucket, &req, &resp, err);
}

int s3_multipart_put(const struct s3_multipart *u, int number, const void *data,
		     bool *ret_sent, struct error *err)
{
	char text[16], hex[DIGEST_HEX_SIZE];
	const struct sigv4_pair query[] = { { "partNumber", text },
					    { "uploadId", u->id },
					    { NULL, NULL } };
	struct s3_part *part = &u->parts[number - 1];
	struct s3_request req = { .key = u->key,
				  .query = query,
				  .body = data,
				  .body_len = (size_t)part->size };

	snprintf(text, sizeof(text), "%d", number);
	digest_hex_of(DIGEST_MD5, data, (size_t)part->size, hex);
	snprintf(part->md5, S3_MD5_SIZE, "%.32s", hex);
	*ret_sent = strcasecmp(hex, part->etag) != 0;
	return *ret_sent ? put(u->bucket, &req, part->md5, part->etag, err) : 0;
}

void s3_multipart_etag(const struct s3_part *parts, size_t n, char ret[64])
{
	cleanup_buf struct buf all = { .max = (size_t)16 * S3_PARTS_MAX };
	char hex[DIGEST_HEX_SIZE];

	*ret = 0;
	for (size_t i = 0; i < n; i++)
		if (hex_decode(&all, parts[i].md5, S3_MD5_SIZE - 1, IGNORED))
			return;
	snprintf(ret, 64, "%s-%zu", digest_hex_of(DIGEST_MD5, all.data, all.len, hex), n);
}

static int on_end(void *ctx, const char *path, const char *text, struct error *err)
{
	char *etag = ctx;
	size_t len = strlen(text), quoted = *text == '"';

	if (!strcmp(path, "ETag") && len > 2 * quoted && len < S3_ETAG_SIZE)
		snprintf(etag, len + 1 - 2 * quoted, "%s", text + quoted);
	return 0;
}

/* The expected end of an upload, and the response headers. */
struct ending {
	const struct s3_multipart *upload;
	const char *want; /* the ETag of its parts */
	struct headers heard;
	struct s3_head before; /* of the key; status 0: it is not known */
};

static void on_end_header(void *ctx, const char *name, const char *value)
{
	struct ending *e = ctx;

	on_header(&e->heard, name, value);
}

static int64_t size_of(const struct s3_multipart *u)
{
	int64_t size = 0;

	for (size_t i = 0; i < u->n; i++)
		size += u->parts[i].size;
	return size;
}

static bool is_no_sum(const struct s3_head *h)
{
	return !h->etag_is_sum || s3_etag_parts(h->etag) < 0;
}

/*
 * Does the object consist of these parts? If ETags are no sums, or of as many parts but made
 * in another way (Alibaba's OSS), it is another one of that size than before. Each part was
 * compared with its own ETag.
 */
static int is_made(void *ctx, bool *ret, struct error *err)
{
	const struct ending *e = ctx;
	struct s3_head head;
	bool may_be;

	if (s3_head(&head, e->upload->bucket, e->upload->key, 0, err))
		return -1;
	may_be = is_no_sum(&head) || s3_etag_parts(head.etag) == (int)e->upload->n;
	*ret = head.status == 200 &&
	       (!strcasecmp(head.etag, e->want) ||
		(may_be && head.size == size_of(e->upload) && e->before.status &&
		 strcmp(head.etag, e->before.etag) != 0));
	return 0;
}

/* The server no longer has the upload, or fails behind its 200: did a try succeed? */
static bool was_made(struct ending *e, const struct error *err)
{
	bool made = false;

	return (err->code == 404 || err->code == 200) && !is_made(e, &made, IGNORED) &&
	       made;
}

/* *ret: status 0 if an answer was lost. What fails behind a 200 is tried again. */
static int ask_end(struct s3_bucket *b, const struct s3_request *req, struct ending *e,
		   struct http_response *ret, struct error *err)
{
	for (int tried = 0; send_request(b, req, ret, err); tried++) {
		if (was_made(e, err))
			return 0;
		if (err->code != 200 || tried == RETRY_TRIES ||
		    stop_wait(retry_pause(tried, -1)))
			return -1;
	}
	return 0;
}

int s3_multipart_complete(const struct s3_multipart *u, struct error *err)
{
	const struct sigv4_pair query[] = { { "uploadId", u->id }, { NULL, NULL } };
	char want[64], etag[S3_ETAG_SIZE] = "", sha256[DIGEST_HEX_SIZE];
	cleanup_http_response struct http_response resp = { 0 };
	cleanup_buf struct buf body = { .max = MAX_COMPLETE };
	const struct xml_reader reader = { on_end, etag };
	struct ending e = { .upload = u, .want = want };
	bool made = false;
	struct s3_request req = { .method = "POST",
				  .key = u->key,
				  .query = query,
				  .is_done = is_made,
				  .on_header = on_end_header,
				  .ctx = &e };

	buf_adds(&body, "<CompleteMultipartUpload>");
	for (size_t i = 0; i < u->n; i++)
		buf_printf(&body,
			   "<Part><PartNumber>%zu</PartNumber><ETag>\"%s\"</ETag></Part>",
			   i + 1, u->parts[i].etag);
	buf_adds(&body, "</CompleteMultipartUpload>");
	req.body = body.data;
	req.body_len = body.len;
	req.payload = digest_hex_of(DIGEST_SHA256, body.data, body.len, sha256);
	s3_multipart_etag(u->parts, u->n, want);
	if (s3_head(&e.before, u->bucket, u->key, 0, IGNORED))
		e.before.status = 0;
	if (ask_end(u->bucket, &req, &e, &resp, err))
		return -1;
	if (!resp.status)
		return 0;
	if (xml_read(resp.body.data, resp.body.len, &reader, err))
		return -1;
	if (e.heard.no_sum || s3_etag_parts(etag) != (int)u->n || !strcasecmp(etag, want))
		return 0;
	if (is_made(&e, &made, err))
		return -1;
	if (!made)
		return error_set(err, ERR_FORMAT,
				 "the object differs from its parts: its ETag or size "
				 "does not match");
	return 0;
}
