/*
 * scheme.h - a URI scheme: each is a `const struct scheme` in a file of its own.
 *
 * A scheme opens a source by its URI, lists its objects, and gives the HTTP request that
 * fetches each. The engine (fetch.h, upload.h) does the rest for all schemes:
 * connections, ranges, retries, journal, verification, renaming.
 */
#ifndef STORE_SCHEME_H
#define STORE_SCHEME_H

#include "store/store.h"

/*
 * A HTTP request without what the engine adds: Range, If-Match. The engine follows
 * redirects, drops these headers at another origin, and reuses the final URL for the
 * object's next requests until it is refused.
 */
struct store_call {
	const char *url;
	const char *const *headers; /* "Name: value", ends with NULL; or NULL */
};

/* A copy of the lines (or NULL: none) with one more, in the arena. */
const char *const *store_headers_with(struct arena *arena, const char *const *headers,
				      const char *line);
/* The same with "Accept-Encoding: identity", unless they have an Accept-Encoding. */
const char *const *store_headers_as_stored(struct arena *arena,
					   const char *const *headers);

struct put_conf;
struct store; /* scheme-specific; locate() is called by many threads */

struct scheme {
	const char *name;   /* "s3", of the URI, lower case */
	bool default_allow; /* upstream's default allow list of models applies */
	bool as_stored;     /* Content-Encoding is how the bytes are stored */
	/* A file of certificates to trust, and which setting names it. NULL: none. */
	const char *(*ca_file)(struct arena *arena, const struct store_conf *conf,
			       const char **ret_setting);
	int (*open)(struct store **ret, const struct store_conf *conf, struct error *err);
	/*
	 * All objects below the URI, by name, without those that `wanted` (may be NULL)
	 * refuses. It is called with the name that upstream's patterns match: the whole
	 * key of s3 and gs, the path in the repository of hf, else the path. `named`: the
	 * URI names this object, not a directory. The engine checks the paths.
	 */
	int (*list)(struct store *s,
		    bool (*wanted)(void *ctx, const char *name, bool named), void *ctx,
		    struct store_listing *ret, struct error *err);
	/*
	 * The request for an object. May send requests itself (the hub's redirect to a
	 * CDN) and cache their result. `refused`: the HTTP status of this object's last
	 * request (400, 401, 403 of what has expired), 0 at first: it makes a fresh one,
	 * or fails with what to do.
	 */
	int (*locate)(struct store *s, const struct store_object *o, int refused,
		      struct arena *arena, struct store_call *ret, struct error *err);
	/*
	 * Called when the bytes do not match o->sum, which may not be a sum of the
	 * contents (an S3 ETag is not an MD5 if the bucket encrypts by KMS). Sets the
	 * right digest, sum and part_size, or STORE_DIGEST_NONE; left unchanged, the
	 * bytes are wrong. NULL: sums are always right.
	 */
	int (*correct_sum)(struct store *s, const struct store_object *o,
			   struct arena *arena, struct store_object *ret,
			   struct error *err);
	/*
	 * The error for a final status, from its body: S3's <Code>, the hub's
	 * X-Error-Message. Fills err, returns -1; NULL: the engine's own text.
	 * ERR_CONFLICT: the object may have been replaced since it was listed.
	 */
	int (*explain)(struct store *s, const struct store_object *o, int status,
		       const char *body, struct error *err);
	/* Local files (file://, pvc://): open one, instead of a request. */
	int (*local_open)(struct store *s, const struct store_object *o, int *ret_fd,
			  struct error *err);
	/*
	 * The URI without its revision, to recognize an earlier run. NULL: the whole URI.
	 */
	const char *(*base_uri)(struct store *s, struct arena *arena);
	void (*close)(struct store *s);
	/* Upload files (put.h) to a place that need not be open. NULL: cannot upload. */
	int (*put)(const struct put_conf *conf, struct error *err);
	/*
	 * Remove the object that the URI names, and all below it; none is fine. Nothing
	 * else may use the store after it. NULL: cannot.
	 */
	int (*remove)(struct store *s, struct error *err);
};

extern const struct scheme scheme_file, scheme_pvc, scheme_http, scheme_https;
extern const struct scheme scheme_hf, scheme_s3, scheme_gs;

/* By the URI's scheme. ERR_UNSUPPORTED lists the known ones. */
MUST_CHECK int scheme_find(const struct scheme **ret, const char *uri, struct error *err);

/* The schemes that can upload, as "s3:// and hf://". */
const char *scheme_list_put(struct arena *arena);

/* A server that ignores the prefix would have all of a bucket fetched, or removed. */
MUST_CHECK int store_check_prefix(const char *key, const char *prefix, struct error *err);

/* The state of listing a bucket below a prefix. */
struct bucket_listing {
	struct store_listing *to;
	size_t n_listed; /* keys, also of objects that are not wanted */
	size_t skip;     /* the length of the prefix */
	bool (*wanted)(void *ctx, const char *name, bool named);
	void *ctx;
};
/*
 * Count a key. False: skip it; it is not wanted, or a placeholder of a directory ("a/").
 */
bool bucket_listing_wants(struct bucket_listing *g, const char *key);
/*
 * The path of a key below the prefix, in the list's arena. Empty parts are left out, as
 * by AWS's CLI and in any path of Linux: "a//b" is "a/b".
 */
const char *bucket_listing_path(const struct bucket_listing *g, const char *key);

#endif
