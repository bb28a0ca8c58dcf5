/*
 * s3_put.h - put an object into a bucket: whole, or in parts.
 *
 * A request is signed with the SHA-256 of its body, which the server verifies; the ETag of
 * its answer is compared with our MD5, unless the bucket encrypts so that ETags are none.
 */
#ifndef STORE_S3_PUT_H
#define STORE_S3_PUT_H

#include "store/s3_bucket.h"

enum {
	S3_PART_MIN = 5 * 1024 * 1024,
	S3_PARTS_MAX = 10000,
	S3_MD5_SIZE = 33,
	S3_ETAG_SIZE = 72
};

/* One of the parts of an object that is being put. */
struct s3_part {
	int64_t size;
	char md5[S3_MD5_SIZE];   /* of our bytes, hex */
	char etag[S3_ETAG_SIZE]; /* the server's, without quotes; "": it has none */
};

/* `md5` is that of the bytes, hex. */
MUST_CHECK int s3_put(struct s3_bucket *b, const char *key, const void *data, size_t len,
		      const char *md5, struct error *err);

/* A multipart upload. */
struct s3_multipart {
	struct s3_bucket *bucket;
	const char *key, *id;
	struct s3_part *parts;
	size_t n;
};

/*
 * CreateMultipartUpload; or go on with `unfinished`, the id of one of ours (or NULL), if the
 * server still has it: then the parts it has are filled in (u->parts, whose sizes are set).
 * u->id is in the arena. Other clients' uploads of the same key are left alone.
 */
MUST_CHECK int s3_multipart_begin(struct s3_multipart *u, const char *unfinished,
				  struct arena *arena, struct error *err);
/* Give it up: the server deletes the parts it has. */
MUST_CHECK int s3_multipart_abort(const struct s3_multipart *u, struct error *err);

/* Part `number`, from 1: not sent when the server has these bytes (*ret_sent). */
MUST_CHECK int s3_multipart_put(const struct s3_multipart *u, int number,
				const void *data, bool *ret_sent, struct error *err);

/* Make the object of its parts. ERR_FORMAT: its ETag is not theirs. */
MUST_CHECK int s3_multipart_complete(const struct s3_multipart *u, struct error *err);

/* "<md5 of the parts' md5s>-<n>" */
void s3_multipart_etag(const struct s3_part *parts, size_t n, char ret[64]);

#endif
