/*
 * store.h - where files are: `const struct scheme`, one for each kind of URI.
 *
 * A place is opened by its URI, lists its objects, and says for each piece of one
 * which HTTP request fetches it. All else is the engine's (fetch.h), once for all
 * schemes: connections, ranges, retries, the journal, verifying, renaming.
 *
 * Everything that comes from a place is hostile: store_path_check() stands between
 * a listing and the file system; sizes, counts and lengths have limits.
 * Requests and URLs may hold credentials (signed URLs, tokens): they never get into
 * a message, a log or a file. What is shown is the object's path and the host.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "net/http.h"

/* What is known of an object's contents before it is fetched. */
enum store_digest {
	STORE_DIGEST_NONE,
	STORE_SHA256,   /* hex: hub's LFS, S3 x-amz-checksum-sha256 of one part */
	STORE_GIT_SHA1, /* hex: git blob id, SHA-1 of "blob <size>\0" and the bytes */
	STORE_MD5,      /* hex: S3 ETag of one part, GCS md5Hash */
	STORE_MD5_PARTS, /* "<hex>-<n>": S3 multipart ETag; part_size says how it was cut */
	STORE_CRC32,     /* hex, 8 digits: S3 x-amz-checksum-crc32 */
	STORE_CRC32C,    /* hex, 8 digits: GCS, S3 */
	STORE_CRC64NVME, /* hex, 16 digits: what S3 makes itself where nobody else did */
};

#define STORE_MAX_SIZE ((int64_t)1 << 50)
enum { STORE_MAX_OBJECTS = 1000000 };

struct store_object {
	const char *path; /* relative to the target, '/' between parts; checked */
	const char *key;  /* the scheme's own name of it, for locate() */
	int64_t size;     /* bytes, at most STORE_MAX_SIZE; -1: the place does not say */
	const char *etag; /* for If-Match, quotes included; NULL: none */
	enum store_digest digest;
	const char *sum;   /* of that digest; NULL: none */
	int64_t part_size; /* STORE_MD5_PARTS: bytes; 0: not known, not verified */
};

struct store_listing {
	struct arena arena;           /* of the strings */
	struct store_object *objects; /* from store_listing_add() only */
	size_t n, cap;
	const char *revision; /* commit of a hub's repository; or NULL */
};
/* A new one at the end; pointers to others end here. ERR_LIMIT: too many. */
MUST_CHECK int store_listing_add(struct store_listing *l, const struct store_object *o,
				 struct error *err);
void store_listing_release(struct store_listing *l);

/*
 * One HTTP request, without what the engine adds: Range, If-Match. The engine follows
 * redirects itself, leaving out all these headers when another host is meant, and
 * keeps where they led for the object's next requests, until that is refused: a
 * scheme may give the place's own URL and nothing more.
 */
struct store_call {
	const char *url;
	const char *const *headers; /* "Name: value", ends with NULL; or NULL */
};

/* How a place is to be opened. Nothing of it is kept. */
struct store_conf {
	const char *uri;
	/* ACCESS_TOKEN, REGION, HF_ENDPOINT, ...: NULL or empty is unset. */
	const char *(*env)(void *ctx, const char *name);
	void *ctx;
	struct http_client *http; /* HTTP/1.1; outlives the store */
	bool model;               /* a model, else a data set: hf:// has two kinds */
	bool unverified;          /* nobody will look at sums: none is asked for */
	int tries;                /* how often store_ask() asks again; 0: RETRY_TRIES */
	/* A line for people: what was assumed, what is slow. Or NULL. From any thread. */
	void (*say)(void *ctx, const char *line);
};

/* The variable's value; NULL when it is unset or empty, or there is no env. */
const char *store_env(const struct store_conf *conf, const char *name);

struct store; /* a scheme's own; many threads may call locate() at once */

struct scheme {
	const char *name; /* "s3", of the URI, lower case */
	bool as_stored;   /* Content-Encoding is what the bytes were stored with */
	int (*open)(struct store **ret, const struct store_conf *conf, struct error *err);
	/*
	 * All objects below the URI, in the order of their names, without those that
	 * `wanted` (may be NULL) refuses: nobody looks at patterns again. It is asked
	 * with the name that upstream's patterns are matched against: the whole key of
	 * s3 and gs, the path in the repository of hf, else the path. `named`: the URI is
	 * this object's, not that of a folder. Paths are the engine's to check.
	 */
	int (*list)(struct store *s,
		    bool (*wanted)(void *ctx, const char *name, bool named), void *ctx,
		    struct store_listing *ret, struct error *err);
	/*
	 * The request for an object. It may ask the place (the hub's redirect to a CDN)
	 * and keep what it learnt. `refused`: the HTTP status that the last request of
	 * this object got (401, 403 of a signed URL that has expired), 0 at first: a
	 * fresh one is made, or it fails with what is wrong and what to do.
	 */
	int (*locate)(struct store *s, const struct store_object *o, int refused,
		      struct arena *arena, struct store_call *ret, struct error *err);
	/*
	 * The bytes that came have not o->sum. Was that sum one of the contents at all? (An
	 * S3 ETag is no MD5 where the bucket encrypts by KMS.) Fills digest, sum and
	 * part_size with what holds instead, STORE_DIGEST_NONE for nothing; as they were:
	 * the bytes are wrong. NULL: they are.
	 */
	int (*doubt)(struct store *s, const struct store_object *o, struct arena *arena,
		     struct store_object *ret, struct error *err);
	/*
	 * What an answer that ends it means, from its body: S3's <Code>, the hub's
	 * X-Error-Message. Fills err, returns -1; NULL: the engine's own words.
	 */
	int (*explain)(struct store *s, const struct store_object *o, int status,
		       const char *body, struct error *err);
	/* Files of this machine (file://, pvc://): opened, instead of a request. */
	int (*local_open)(struct store *s, const struct store_object *o, int *ret_fd,
			  struct error *err);
	/* The URI without its revision: what an earlier one was of. NULL: all of it. */
	const char *(*place)(struct store *s, struct arena *arena);
	void (*close)(struct store *s);
};

extern const struct scheme scheme_file, scheme_pvc, scheme_http, scheme_https;
extern const struct scheme scheme_hf, scheme_s3, scheme_gs;

/* By the URI's scheme. ERR_UNSUPPORTED with the list of those there are. */
MUST_CHECK int scheme_find(const struct scheme **ret, const char *uri, struct error *err);

/*
 * Is that a path below the target and nothing else: relative, UTF-8, no "..", "." or
 * empty part, no NUL or control character, at most 255 bytes a part and
 * 4,096 in all? ERR_INVALID names it.
 */
MUST_CHECK int store_path_check(const char *path, struct error *err);

#endif
