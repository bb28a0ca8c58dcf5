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

/* Append the date, time or timestamp at p. */
void moment_text(struct buf *out, const struct field *f, const void *p);

/*
 * Parse the output of moment_text(), also with a shorter fraction or an offset instead of
 * Z.
 */
bool moment_parse(int64_t *ret, const struct field *f, const char *text);

#endif
