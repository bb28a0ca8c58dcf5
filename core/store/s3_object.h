/*
 * s3_object.h - what S3 says of objects: pages of a listing, and one object's headers.
 */
#ifndef STORE_S3_OBJECT_H
#define STORE_S3_OBJECT_H

#include "store/s3_bucket.h"

/* A page of ListObjectsV2. */
struct s3_entry {
	const char *key, *etag; /* etag without quotes; "" when there is none */
	int64_t size;
};
struct s3_page {
	struct s3_entry *entries; /* in the arena */
	size_t n, cap;
	bool truncated;
	const char *next; /* the continuation token; NULL: none */
};

/* ERR_FORMAT: no such page. Keys are decoded, and checked for nothing. */
MUST_CHECK int s3_page_read(struct s3_page *ret, struct arena *arena, const void *data,
			    size_t len, struct error *err);

/*
 * All objects whose keys begin with `prefix`, a page at a time. `each` returns -1 with
 * err filled to end it; what it is given lives until it returns.
 */
MUST_CHECK int s3_list(struct s3_bucket *b, const char *prefix,
		       int (*each)(void *ctx, const struct s3_entry *e,
				   struct error *err),
		       void *ctx, struct error *err);

enum { S3_SUM_SIZE = 65 }; /* SHA-256's digits are the most */

/* Of one object, or of one part of it. */
struct s3_head {
	int status;
	int64_t size;             /* of the part, if one was asked for; -1: not said */
	int64_t parts;            /* how many there are; 0: not said */
	char etag[160];           /* without quotes; or "" */
	enum store_digest digest; /* the best checksum of all the bytes that it has */
	char sum[S3_SUM_SIZE];    /* hex; or "" */
	bool etag_is_sum;         /* MD5, or of the parts' MD5s */
};

/* `part`: 1 and up; 0: the whole object. Any status is a success. */
MUST_CHECK int s3_head(struct s3_head *ret, struct s3_bucket *b, const char *key,
		       int part, struct error *err);

/* How many parts an ETag "<md5>-<n>" is of; 0: it is the object's MD5; -1: no sum. */
int s3_etag_parts(const char *etag);

#endif
