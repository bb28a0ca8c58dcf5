/*
 * s3_put.h - the ways in which S3 takes an object: whole, or in parts.
 *
 * What is sent is signed with its SHA-256, which the server checks; what it answers
 * (the ETag) is held against our MD5, unless the bucket encrypts so that ETags are none.
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

/* An upload that has been begun. */
struct s3_upload {
	struct s3_bucket *bucket;
	const char *key, *id;
	struct s3_part *parts;
	size_t n;
};

/*
 * Begin; or go on with `begun`, one of ours (or NULL), if the server knows it still: then
 * the parts that it has are filled in (u->parts, whose sizes are set). u->id is in the
 * arena. Uploads of others for the same key are left alone.
 */
MUST_CHECK int s3_parts_begin(struct s3_upload *u, const char *begun, struct arena *arena,
			      struct error *err);
/* It will not be gone on with: what is there of it costs nothing any more. */
MUST_CHECK int s3_parts_abort(const struct s3_upload *u, struct error *err);

/* Part `number`, from 1: not sent when the server has these bytes (*ret_sent). */
MUST_CHECK int s3_parts_put(const struct s3_upload *u, int number, const void *data,
			    bool *ret_sent, struct error *err);

/* Make the object of its parts, and see that its ETag is theirs. */
MUST_CHECK int s3_parts_end(const struct s3_upload *u, struct error *err);

/* "<md5 of the parts' md5s>-<n>" */
void s3_parts_etag(const struct s3_part *parts, size_t n, char ret[64]);

#endif
