/*
 * lz4.h - LZ4's block format (lz4_Block_format.md of lz4/lz4).
 */
#ifndef ARROW_LZ4_H
#define ARROW_LZ4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Fills dst, which holds exactly dst_len bytes and room for BLOCK_SLACK more: the next
 * block may be decoded there. False: damaged, or of another length.
 */
bool lz4_decode(uint8_t *dst, size_t dst_len, const uint8_t *src, size_t src_len);

#endif
