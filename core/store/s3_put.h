/*
 * s3_put.h - put an object into a bucket: whole, or in parts.
 *
 * Requests are signed with the SHA-256 of their body, which the server verifies; the ETag
 * of the answer is compared with our MD5, unless the bucket's encryption makes it
 * something else.
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

MUST_CHECK int s3_delete(struct s3_bucket *b, const char *key, struct error *err);

/* A multipart upload. */
struct s3_multipart {
	struct s3_bucket *bucket;
	const char *key, *id;
	struct s3_part *parts;
	size_t n;
};

/*
 * Create a multipart upload, or continue `unfinished`, the id of one of ours (or NULL),
 * if the server still has it: then u->parts, whose sizes are set, gets the parts that the
 * server has. u->id is in the arena. Other clients' uploads of the same key are not
 * touched.
 */
MUST_CHECK int s3_multipart_begin(struct s3_multipart *u, const char *unfinished,
				  struct arena *arena, struct error *err);
/* Abort the upload: the server deletes its parts. */
MUST_CHECK int s3_multipart_abort(const struct s3_multipart *u, struct error *err);

/* Send part `number`, from 1, unless the server has the same bytes (*ret_sent). */
MUST_CHECK int s3_multipart_put(const struct s3_multipart *u, int number,
				const void *data, bool *ret_sent, struct error *err);

/* Make the object from its parts. ERR_FORMAT: its ETag does not match the parts. */
MUST_CHECK int s3_multipart_complete(const struct s3_multipart *u, struct error *err);

/* "<md5 of the parts' md5s>-<n>" */
void s3_multipart_etag(const struct s3_part *parts, size_t n, char ret[64]);

#endif
