/*
 * moments.h - dates and times as ISO 8601 writes them.
 *
 * "2026-11-23", "08:30:00.125", "2026-11-23T08:30:00.125Z": fractions in the digits of
 * the unit. Years have 4 digits or more, and a minus before year 0.
 */
#ifndef ARROW_MOMENTS_H
#define ARROW_MOMENTS_H

#include "arrow/array.h"
#include "base/buf.h"

/* Of a date, time or timestamp: the value at p. */
void moment_text(struct buf *out, const struct field *f, const void *p);

/* The reverse: what moment_text() prints, a shorter fraction, and an offset for Z. */
bool moment_parse(int64_t *ret, const struct field *f, const char *text);

#endif
