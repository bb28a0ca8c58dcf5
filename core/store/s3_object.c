/* s3_object.c - HeadObject: size, ETag and checksums of one object (s3_object.h). */
#include "store/s3_object.h"

#include <ctype.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { MD5_HEX = 32, MAX_PARTS = 10000 };

int s3_etag_parts(const char *etag)
{
	int64_t n = 0;

	for (int i = 0; i < MD5_HEX; i++)
		if (!isxdigit((unsigned char)etag[i]))
			return -1;
	if (!etag[MD5_HEX])
		return 0;
	if (etag[MD5_HEX] != '-' ||
	    str_int(&n, etag + MD5_HEX + 1, 1, MAX_PARTS, IGNORED))
		return -1;
	return (int)n;
}

/* S3 sends base64; "...-3" is a composite checksum. */
static void take_checksum(char ret[S3_SUM_SIZE], size_t digits, const char *value)
{
	cleanup_buf struct buf raw = { .max = 64 }, text = { .max = 128 };

	if (strchr(value, '-') || base64_decode(&raw, value, strlen(value), IGNORED) ||
	    raw.len * 2 != digits)
		return;
	hex_encode(&text, raw.data, raw.len);
	snprintf(ret, S3_SUM_SIZE, "%s", (const char *)text.data);
}

/* Supported ones, the best first. */
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

enum { N_CHECKSUMS = N_ELEMENTS(checksums) };

struct headers {
	struct s3_head head;
	bool composite;
	char sums[N_CHECKSUMS][S3_SUM_SIZE]; /* hex; or "" */
};

static void on_size(struct headers *h, const char *value)
{
	if (str_int(&h->head.size, value, 0, INT64_MAX, IGNORED))
		h->head.size = -1;
}

static void on_parts(struct headers *h, const char *value)
{
	if (str_int(&h->head.parts, value, 1, MAX_PARTS, IGNORED))
		h->head.parts = 0;
}

static void on_etag(struct headers *h, const char *value)
{
	size_t len = strlen(value);

	if (len > 2 && len < sizeof(h->head.etag) && value[0] == '"')
		snprintf(h->head.etag, len - 1, "%s", value + 1);
}

static void on_type(struct headers *h, const char *value)
{
	h->composite = !strcasecmp(value, "COMPOSITE");
}

static void on_class(struct headers *h, const char *value)
{
	if (!strcasecmp(value, "EXPRESS_ONEZONE"))
		h->head.etag_is_sum = false;
}

static void on_encryption(struct headers *h, const char *value)
{
	if (!strncasecmp(value, "aws:kms", 7))
		h->head.etag_is_sum = false;
}

static void on_customer_key(struct headers *h, const char *value)
{
	h->head.etag_is_sum = false;
}

static const struct {
	const char *name;
	void (*take)(struct headers *h, const char *value);
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
	struct headers *h = ctx;

	for (size_t i = 0; i < N_CHECKSUMS; i++)
		if (!strcasecmp(name, checksums[i].header))
			take_checksum(h->sums[i], checksums[i].digits, value);
	for (size_t i = 0; i < N_ELEMENTS(fields); i++)
		if (!strcasecmp(name, fields[i].name))
			fields[i].take(h, value);
}

/* A composite checksum is useless: ranges are not the parts. */
static void choose_checksum(struct headers *h)
{
	for (size_t i = 0; i < N_CHECKSUMS && !h->composite; i++)
		if (*h->sums[i]) {
			h->head.digest = checksums[i].digest;
			snprintf(h->head.sum, sizeof(h->head.sum), "%s", h->sums[i]);
			return;
		}
}

static int ask(struct s3_head *ret, struct s3_bucket *b, const char *key, int part,
	       bool sums, struct error *err)
{
	char number[16];
	const struct sigv4_pair query[] = { { part ? "partNumber" : NULL, number },
					    { NULL, NULL } };
	static const struct sigv4_pair headers[] = { { "x-amz-checksum-mode", "ENABLED" },
						     { NULL, NULL } };
	struct headers heard = { .head = { .size = -1, .etag_is_sum = true } };
	const struct s3_request req = { .method = "HEAD",
					.key = key,
					.query = query,
					.headers = sums ? headers : NULL,
					.on_header = on_header,
					.ctx = &heard };
	cleanup_http_response struct http_response resp = { 0 };

	snprintf(number, sizeof(number), "%d", part);
	if (s3_bucket_send(b, &req, &resp, err))
		return -1;
	choose_checksum(&heard);
	heard.head.status = resp.status;
	*ret = heard.head;
	return 0;
}

/* Backblaze B2 and others refuse a header that they do not know. */
static bool refuses_header(const struct s3_head *h)
{
	return h->status == 400 || h->status == 501;
}

int s3_head(struct s3_head *ret, struct s3_bucket *b, const char *key, int part,
	    struct error *err)
{
	bool sums = s3_bucket_has_sums(b);

	if (ask(ret, b, key, part, sums, err))
		return -1;
	if (!sums || !refuses_header(ret))
		return 0;
	if (ask(ret, b, key, part, false, err))
		return -1;
	if (!refuses_header(ret))
		s3_bucket_no_sums(b);
	return 0;
}
