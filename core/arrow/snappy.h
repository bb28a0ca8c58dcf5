/*
 * snappy.h - snappy's block format (format_description.txt of google/snappy).
 */
#ifndef ARROW_SNAPPY_H
#define ARROW_SNAPPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Fills dst, which holds exactly dst_len bytes and room for BLOCK_SLACK more.
 * ERR_FORMAT: damaged, or of another length.
 */
MUST_CHECK int snappy_decode(uint8_t *dst, size_t dst_len, const uint8_t *src,
			     size_t src_len, struct error *err);

#endif
