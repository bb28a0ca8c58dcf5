/*
 * aws_error.h - what S3, STS and their like say in XML when they refuse.
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
	const char *message; /* for people: one line, safe to show, bounded; or "" */
	const char *region;  /* where it is, when asked in the wrong one; or NULL */
	int64_t server_time; /* RequestTimeTooSkewed: its clock; else 0 */
};

/* Never fails: what is no such answer is empty. */
struct aws_error aws_error_read(struct arena *arena, const struct buf *body);

#endif
