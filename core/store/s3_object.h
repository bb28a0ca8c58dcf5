/*
 * s3_object.h - HeadObject: the size and checksums of one object, and what its ETag
 * means.
 */
#ifndef STORE_S3_OBJECT_H
#define STORE_S3_OBJECT_H

#include "store/s3_bucket.h"

enum { S3_SUM_SIZE = 65 }; /* SHA-256 has the most digits */

/* The result for one object, or for one part of it. */
struct s3_head {
	int status;
	int64_t size;             /* of the part, if requested; -1: unknown */
	int64_t parts;            /* number of parts; 0: unknown */
	char etag[160];           /* without quotes; or "" */
	enum store_digest digest; /* the best checksum of the whole object */
	char sum[S3_SUM_SIZE];    /* hex; or "" */
	bool etag_is_sum;         /* MD5, or of the parts' MD5s */
};

/* `part`: 1 and up; 0: the whole object. Any status is a success. */
MUST_CHECK int s3_head(struct s3_head *ret, struct s3_bucket *b, const char *key,
		       int part, struct error *err);

/*
 * The number of parts of an ETag "<md5>-<n>"; 0: it is the object's MD5; -1: not a sum.
 */
int s3_etag_parts(const char *etag);

#endif
