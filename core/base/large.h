/*
 * large.h - buffers that may be large, and then are of huge pages.
 *
 * From LARGE bytes on, a buffer is a mapping of its own that begins where a huge page can.
 * The kernel fills it with pages of 2 MiB (MADV_HUGEPAGE): one page fault in place of 512.
 * Its end, which does not fill one, is of small pages. It grows without a copy, and
 * large_free() gives it back to the system. Smaller buffers are malloc()'s.
 */
#ifndef BASE_LARGE_H
#define BASE_LARGE_H

#include <stddef.h>

enum { LARGE = 2 * 1024 * 1024 }; /* a huge page */

/* `size` bytes that begin with the `old` ones at p, which is no longer valid. NULL, 0: a
 * new buffer. The others mean nothing. */
void *large_grow(void *p, size_t old, size_t size);
void large_free(void *p, size_t size); /* NULL is fine */

/* The least size from this on that ends with a huge page; itself below LARGE. */
size_t large_round(size_t size);

#endif
