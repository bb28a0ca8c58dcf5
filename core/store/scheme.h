/*
 * scheme.h - one kind of URI: a `const struct scheme` in a file of its own.
 *
 * A place is opened by its URI, lists its objects, and says for each piece of one
 * which HTTP request fetches it. All else is the engine's (fetch.h, upload.h), once for
 * all schemes: connections, ranges, retries, the journal, verifying, renaming.
 */
#ifndef STORE_SCHEME_H
#define STORE_SCHEME_H

#include "store/store.h"

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

struct put_conf;
struct store; /* a scheme's own; many threads may call locate() at once */

struct scheme {
	const char *name; /* "s3", of the URI, lower case */
	bool as_stored;   /* Content-Encoding is what the bytes were stored with */
	/* A file of certificates to trust, and which setting names it. NULL: none. */
	const char *(*ca_file)(struct arena *arena, const struct store_conf *conf,
			       const char **ret_setting);
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
	/* Upload files (put.h) to a place that need not be open. NULL: cannot upload. */
	int (*put)(const struct put_conf *conf, struct error *err);
};

extern const struct scheme scheme_file, scheme_pvc, scheme_http, scheme_https;
extern const struct scheme scheme_hf, scheme_s3, scheme_gs;

/* By the URI's scheme. ERR_UNSUPPORTED with the list of those there are. */
MUST_CHECK int scheme_find(const struct scheme **ret, const char *uri, struct error *err);

/* "s3:// and hf://": those that take uploads. */
const char *scheme_list_put(struct arena *arena);

#endif
