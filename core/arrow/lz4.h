/*
 * lz4.h - LZ4's blocks and frames (lz4_Block_format.md, lz4_Frame_format.md of lz4/lz4).
 */
#ifndef ARROW_LZ4_H
#define ARROW_LZ4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Fills dst, which holds exactly dst_len bytes. False: damaged, of another length, or
 * 2 GiB and more.
 */
bool lz4_decode(uint8_t *dst, size_t dst_len, const uint8_t *src, size_t src_len);

/*
 * Writes one frame of independent blocks, without checksums, and returns its length. dst
 * holds lz4_frame_bound(len) bytes. Fast rather than small, as LZ4's own default is.
 */
size_t lz4_frame(uint8_t *dst, const uint8_t *src, size_t len);
size_t lz4_frame_bound(size_t len);

#endif
