/*
 * sigv4.h - AWS Signature Version 4.
 *
 * Source: "Create a signed AWS API request" of AWS's IAM guide, and for S3 (path encoded
 * once, x-amz-content-sha256) "Signature Calculations for the Authorization Header".
 * Pure: the time is a member of the request.
 */
#ifndef CLOUD_SIGV4_H
#define CLOUD_SIGV4_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

struct sigv4_key {
	const char *access, *secret;
	const char *token; /* of a session; or NULL */
};

/* A parameter or header, unencoded. */
struct sigv4_pair {
	const char *name, *value;
};

struct sigv4_request {
	const char *method;
	const char *host; /* as in the Host header: with a port that is not the default */
	const char *path; /* as in the URL: http_escape_path()d */
	const char *query; /* as in the URL: of sigv4_query(); "" for none */
	const struct sigv4_pair *headers; /* to be signed, too, names in lower case;
					     ends with a NULL name; or NULL */
	const char *payload;              /* SHA-256 in hex; or NULL: of an empty body */
	const char *region, *service;
	int64_t now; /* seconds since 1970 */
};

/* "a=1&b=", escaped and sorted. `pairs` ends with a NULL name; NULL gives "". */
const char *sigv4_query(struct arena *arena, const struct sigv4_pair *pairs);

/*
 * "Name: value" for each of r->headers, x-amz-date, for S3 x-amz-content-sha256, the
 * session token, Authorization; ends with NULL. key NULL: unsigned, r->headers alone.
 */
const char *const *sigv4_sign(struct arena *arena, const struct sigv4_request *r,
			      const struct sigv4_key *key);

#endif
