/*
 * aws_error.h - the XML error of S3, STS and compatible servers.
 *
 * Both forms: <Error><Code/>... of S3 and <ErrorResponse><Error><Code/>... of STS.
 */
#ifndef CLOUD_AWS_ERROR_H
#define CLOUD_AWS_ERROR_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

struct aws_error {
	const char *code;    /* "NoSuchKey"; "" when the answer does not say */
	const char *message; /* one line, printable, bounded; or "" */
	const char *region;  /* the right region; or NULL */
	int64_t server_time; /* RequestTimeTooSkewed: its clock; else 0 */
};

/* Never fails: without such an error all is empty. */
struct aws_error aws_error_read(struct arena *arena, const struct buf *body);

#endif
