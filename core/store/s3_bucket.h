/*
 * s3_bucket.h - one bucket of S3 or a compatible server: its address, credentials, signed
 * requests, errors.
 *
 * Endpoint: ENDPOINT, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_ENDPOINT,
 * AWS_S3_ENDPOINT (https unless given), the profile's (aws_profile.h), else AWS's of the
 * region. Region: REGION, AWS_REGION, AWS_DEFAULT_REGION, the profile's, else us-east-1;
 * the server's answer (x-amz-bucket-region, <Region>) takes precedence. At AWS's
 * endpoints the bucket is part of the host name, elsewhere of the path, unless
 * AWS_VIRTUAL_HOSTED_STYLE_REQUEST=true|false. With AWS_REQUEST_PAYER=requester the
 * requests are paid for by who makes them. Credentials: aws_credentials.h.
 *
 * A bucket of gs://: gs_endpoint(), and, without ACCESS_KEY_ID, an access token
 * (gs_token.h) in place of the signature.
 *
 * Source: Amazon S3 API reference (2006-03-01); Google's XML API is the same protocol.
 */
#ifndef STORE_S3_BUCKET_H
#define STORE_S3_BUCKET_H

#include "cloud/aws_error.h"
#include "cloud/sigv4.h"
#include "store/scheme.h"

struct s3_bucket; /* thread-safe */

/*
 * The URI's key is s3_bucket_key(): an object's, or a prefix; without a leading '/', ""
 * for all.
 */
MUST_CHECK int s3_bucket_open(struct s3_bucket **ret, const struct store_conf *conf,
			      struct error *err);
void s3_bucket_close(struct s3_bucket *b);
const char *s3_bucket_key(const struct s3_bucket *b);

struct s3_request {
	const char *method;
	const char *key;                          /* NULL: the bucket itself */
	const struct sigv4_pair *query, *headers; /* as sigv4.h has them */
	const void *body;
	size_t body_len;
	const char *payload; /* SHA-256 of the body, hex; NULL without a body */
	bool key_refused;    /* by the last try: renew the credentials, if possible */
	/* As http_retry_call's: it is not idempotent. The answer may have status 0. */
	int (*is_done)(void *ctx, bool *ret, struct error *err);
	/* Each header of the answer; or NULL. */
	void (*on_header)(void *ctx, const char *name, const char *value);
	void *ctx; /* of both */
};

/* Google's: it unpacks an object that is stored packed, unless one accepts it so. */
bool s3_bucket_unpacks(const struct s3_bucket *b);

/* Are requests signed, with the SHA-256 of their body? A token signs nothing. */
bool s3_bucket_signs(const struct s3_bucket *b);

/* Does the server accept x-amz-checksum-mode? Yes, until s3_bucket_no_sums(). */
bool s3_bucket_has_sums(struct s3_bucket *b);
void s3_bucket_no_sums(struct s3_bucket *b);

/* The URL and headers of a request, signed with the current time. */
MUST_CHECK int s3_bucket_sign(struct s3_bucket *b, const struct s3_request *req,
			      struct arena *arena, struct store_call *ret,
			      struct error *err);

/*
 * Send it, signed for each try, in the right region and with valid credentials. Any
 * status is a success; s3_bucket_refused() explains it.
 */
MUST_CHECK int s3_bucket_send(struct s3_bucket *b, const struct s3_request *req,
			      struct http_response *ret, struct error *err);

/* The error for a status, with what to do. `body` may be empty (HEAD). Returns -1. */
int s3_bucket_refused(struct s3_bucket *b, const char *key, int status,
		      const struct buf *body, struct error *err);

#endif
