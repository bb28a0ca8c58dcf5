/*
 * large.h - buffers that use huge pages if they are large.
 *
 * From LARGE bytes on, a buffer is an aligned mapping of its own, which the kernel fills
 * with pages of 2 MiB (MADV_HUGEPAGE): one page fault instead of 512. Its last, partial
 * page is of small pages. It grows without a copy, and large_free() returns it to the
 * system. Smaller buffers use malloc().
 */
#ifndef BASE_LARGE_H
#define BASE_LARGE_H

#include <stddef.h>

enum { LARGE = 2 * 1024 * 1024 }; /* a huge page */

/*
 * Resize p from `old` to `size` bytes, keeping the old ones; p becomes invalid. NULL, 0:
 * a new buffer. New bytes are undefined.
 */
void *large_grow(void *p, size_t old, size_t size);
void large_free(void *p, size_t size); /* NULL is fine */

/* Round up to a multiple of a huge page; sizes below LARGE are returned unchanged. */
size_t large_round(size_t size);

#endif
