/*
 * s3_list.h - list the objects of a bucket: ListObjectsV2 and the parser of its pages.
 */
#ifndef STORE_S3_LIST_H
#define STORE_S3_LIST_H

#include "store/s3_bucket.h"

/* A page of ListObjectsV2. */
struct s3_entry {
	const char *key, *etag; /* etag without quotes; "" if the server sent none */
	int64_t size;
};
struct s3_page {
	struct s3_entry *entries; /* in the arena */
	size_t n, cap;
	bool truncated;
	const char *next; /* the continuation token; NULL: none */
};

/* Parse a page. Keys are decoded, but not checked. ERR_FORMAT: not a page. */
MUST_CHECK int s3_page_read(struct s3_page *ret, struct arena *arena, const void *data,
			    size_t len, struct error *err);

/*
 * Call `each` for all objects whose keys begin with `prefix`. *e is valid only during the
 * call; -1 with err filled ends the listing.
 */
MUST_CHECK int s3_list(struct s3_bucket *b, const char *prefix,
		       int (*each)(void *ctx, const struct s3_entry *e,
				   struct error *err),
		       void *ctx, struct error *err);

#endif
