/* Verifies digests of downloads; see verify.h. */
#include "store/verify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/digest.h"

struct verify {
	const struct store_object *o;
	struct digest *d;
	struct digest *parts; /* STORE_MD5_PARTS: of the parts' digests */
	int64_t in_part;
};

enum { CHUNK = 256 * 1024 };

static const struct {
	enum digest_type type;
	const char *word;
} kinds[] = {
	[STORE_SHA256] = { DIGEST_SHA256, "sha256" },
	[STORE_GIT_SHA1] = { DIGEST_SHA1, "git" },
	[STORE_MD5] = { DIGEST_MD5, "md5" },
	[STORE_MD5_PARTS] = { DIGEST_MD5, "md5-parts" },
	[STORE_CRC32] = { DIGEST_CRC32, "crc32" },
	[STORE_CRC32C] = { DIGEST_CRC32C, "crc32c" },
	[STORE_CRC64NVME] = { DIGEST_CRC64NVME, "crc64nvme" },
};

static bool can_verify(const struct store_object *o)
{
	if (o->digest == STORE_DIGEST_NONE || !o->sum || o->size < 0)
		return false;
	return o->digest != STORE_MD5_PARTS || o->part_size > 0;
}

bool verify_is_authoritative(const struct store_object *o)
{
	return can_verify(o) && o->digest != STORE_MD5 && o->digest != STORE_MD5_PARTS;
}

bool verify_is_proof(const struct store_object *o)
{
	return o->digest == STORE_SHA256 && o->sum;
}

struct verify *verify_new(const struct store_object *o)
{
	struct verify *v;
	char head[40];

	if (!can_verify(o))
		return NULL;
	v = xcalloc(1, sizeof(*v));
	v->o = o;
	v->d = digest_new(kinds[o->digest].type);
	if (o->digest == STORE_MD5_PARTS)
		v->parts = digest_new(DIGEST_MD5);
	if (o->digest == STORE_GIT_SHA1) {
		int n = snprintf(head, sizeof(head), "blob %lld", (long long)o->size);

		digest_add(v->d, head, (size_t)n + 1);
	}
	return v;
}

static void end_part(struct verify *v)
{
	unsigned char raw[DIGEST_MAX];
	size_t len = digest_end(v->d, raw);

	digest_add(v->parts, raw, len);
	v->in_part = 0;
}

void verify_add(struct verify *v, const void *data, size_t len)
{
	const char *p = data;

	while (v->parts && len && (int64_t)len >= v->o->part_size - v->in_part) {
		size_t n = (size_t)(v->o->part_size - v->in_part);

		digest_add(v->d, p, n);
		end_part(v);
		p += n;
		len -= n;
	}
	digest_add(v->d, p, len);
	v->in_part += (int64_t)len;
}

bool verify_end(struct verify *v)
{
	char hex[DIGEST_HEX_SIZE];

	if (v->parts && v->in_part)
		end_part(v);
	digest_end_hex(v->parts ? v->parts : v->d, hex);
	return strlen(v->o->sum) >= strlen(hex) &&
	       !strncasecmp(v->o->sum, hex, strlen(hex)) &&
	       (!v->o->sum[strlen(hex)] || (v->parts && v->o->sum[strlen(hex)] == '-'));
}

void verify_free(struct verify *v)
{
	if (!v)
		return;
	digest_free(v->d);
	digest_free(v->parts);
	free(v);
}

const char *verify_name(struct arena *arena, const struct store_object *o)
{
	if (!can_verify(o))
		return NULL;
	return arena_printf(arena, "%s:%s", kinds[o->digest].word, o->sum);
}

int verify_fd(const struct store_object *o, int fd, struct error *err)
{
	cleanup_free char *chunk = xmalloc(CHUNK);
	struct verify *v = verify_new(o);
	ssize_t n = 1;
	int64_t at = 0;
	bool right;

	while (v && n > 0 && !stop_requested()) {
		n = pread(fd, chunk, CHUNK, at);
		if (n > 0)
			verify_add(v, chunk, (size_t)n);
		at += n;
	}
	right = v && n == 0 && verify_end(v);
	verify_free(v);
	if (n < 0)
		return error_errno(err, errno, "reading back what was written");
	if (stop_requested())
		return error_set(err, ERR_STOPPED, "stopped");
	return right;
}
