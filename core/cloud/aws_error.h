/*
 * aws_error.h - parse XML errors of S3, STS and compatible servers.
 *
 * Both forms: <Error><Code/>... of S3 and <ErrorResponse><Error><Code/>... of STS.
 */
#ifndef CLOUD_AWS_ERROR_H
#define CLOUD_AWS_ERROR_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "net/http.h"

struct aws_error {
	const char *code;     /* "NoSuchKey"; "" if the answer has none */
	const char *message;  /* one line, printable, bounded; or "" */
	const char *region;   /* the right region; or NULL */
	const char *endpoint; /* the right host: "s3.us-west-1.wasabisys.com"; or NULL */
	int64_t server_time;  /* RequestTimeTooSkewed: its clock; else 0 */
};

/* Never fails: all members are empty if the body has no such error. */
struct aws_error aws_error_read(struct arena *arena, const struct buf *body);

/*
 * For http_retry_call.passes: "Throttling: Rate exceeded" of a response with 4xx that AWS's
 * SDKs retry; else NULL.
 */
const char *aws_error_passes(struct arena *arena, const struct http_response *r);

#endif
