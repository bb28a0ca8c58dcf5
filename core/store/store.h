/*
 * store.h - a source of files: its settings, and the objects it lists.
 *
 * All input is untrusted: relpath_check() checks every path before it reaches the file
 * system; sizes, counts and lengths are limited. Requests and URLs may contain
 * credentials (signed URLs, tokens): they never appear in a message, a log or a file,
 * which show the object's path and the host.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "cloud/cloud.h"
#include "net/http.h"

/* Identifies an object's contents before it is fetched. */
enum store_digest {
	STORE_DIGEST_NONE,
	STORE_SHA256,    /* hex: hub's LFS, S3 x-amz-checksum-sha256 of one part */
	STORE_GIT_SHA1,  /* hex: git blob id, SHA-1 of "blob <size>\0" and the bytes */
	STORE_MD5,       /* hex: S3 ETag of one part, GCS md5Hash */
	STORE_MD5_PARTS, /* "<hex>-<n>": S3 multipart ETag; see part_size */
	STORE_CRC32,     /* hex, 8 digits: S3 x-amz-checksum-crc32 */
	STORE_CRC32C,    /* hex, 8 digits: GCS, S3 */
	STORE_CRC64NVME, /* hex, 16 digits: S3's default */
};

#define STORE_MAX_SIZE ((int64_t)1 << 50)
enum { STORE_MAX_OBJECTS = 1000000 };

struct store_object {
	const char *path;       /* relative to the target, '/' between parts; checked */
	const char *key;        /* the scheme's own name of it, for locate() */
	const char *generation; /* gs: of the version that was listed; NULL: the latest */
	int64_t size;           /* bytes, at most STORE_MAX_SIZE; -1: unknown */
	const char *etag;       /* for If-Match, quotes included; NULL: none */
	enum store_digest digest;
	const char *sum;   /* of that digest; NULL: none */
	int64_t part_size; /* STORE_MD5_PARTS: bytes; 0: not known, not verified */
};

/* The same, its strings in the arena. */
struct store_object store_object_copy(struct arena *arena, const struct store_object *o);

struct store_listing {
	struct arena arena;           /* of the strings */
	struct store_object *objects; /* from store_listing_add() only */
	size_t n, cap;
	const char *revision; /* commit of a hub's repository; or NULL */
};
/* Appends; earlier pointers into it become invalid. ERR_LIMIT: too many. */
MUST_CHECK int store_listing_add(struct store_listing *l, const struct store_object *o,
				 struct error *err);
void store_listing_sort(struct store_listing *l); /* by path */
void store_listing_release(struct store_listing *l);

/* How to open a source. Not kept, except for what `http` points to. */
struct store_conf {
	const char *uri;
	/* ACCESS_TOKEN, REGION, HF_ENDPOINT, ...: NULL or empty is unset. */
	const char *(*env)(void *ctx, const char *name);
	void *ctx;
	struct http_client *http; /* HTTP/1.1; outlives the store */
	bool model;               /* a model or a data set, for hf:// */
	bool unverified;          /* sums are not needed */
	bool exact;               /* s3: the URI names an object, never a directory */
	bool below;               /* paths of hf:// begin below the URI, as others' do */
	int tries;                /* as http_retry_conf's */
	const char *
		target; /* a directory that file: and pvc: leave out of a listing, or NULL */
	/* One line for the user: an assumption, a delay. Or NULL. From any thread. */
	void (*say)(void *ctx, const char *line);
};

/* The variable's value; NULL: unset, empty, or no env. */
const char *store_env(const struct store_conf *conf, const char *name);

/* The settings for credentials and retries. */
struct cloud_conf store_cloud_conf(const struct store_conf *conf);
struct http_retrier *store_retrier(struct arena *arena, const struct store_conf *conf);

/*
 * A client for conf->uri (only uri, env and ctx are used): HTTP/1.1, with the CA file
 * that the scheme's own programs use (scheme->ca_file), or that of REQUESTS_CA_BUNDLE or
 * CURL_CA_BUNDLE, as Python's requests, unless SSL_CERT_FILE is set. The rest is as `like`.
 */
MUST_CHECK int store_http_new(struct http_client **ret, const struct store_conf *conf,
			      const struct http_conf *like, struct error *err);

#endif
