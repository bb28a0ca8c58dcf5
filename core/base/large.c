/* Allocates buffers of huge pages: large.h. */
#include "base/large.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/xmalloc.h"

enum { PAGE = 64 * 1024 /* the largest of any machine that this is built for */ };

static size_t mapped(size_t size)
{
	return (size + PAGE - 1) / PAGE * PAGE;
}

static char *checked(void *p)
{
	if (p == MAP_FAILED) {
		fputs("kftrainer: out of memory\n", stderr);
		abort();
	}
	return p;
}

/* Align the mapping: unmap what is before and after it. */
static char *map(size_t size)
{
	char *p = checked(mmap(NULL, size + LARGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
	size_t before = -(uintptr_t)p & (LARGE - 1);

	if (before)
		munmap(p, before);
	p += before;
	munmap(p + size, LARGE - before);
	madvise(p, size, MADV_HUGEPAGE);
	return p;
}

void *large_grow(void *p, size_t old, size_t size)
{
	char *to;

	if (size < LARGE)
		return xreallocarray(p, 1, size);
	if (old >= LARGE && mapped(old) == mapped(size))
		return p;
	to = map(mapped(size));
	if (old >= LARGE)
		return checked(mremap(p, mapped(old), mapped(size),
				      MREMAP_MAYMOVE | MREMAP_FIXED, to));
	if (old)
		memcpy(to, p, old);
	free(p);
	return to;
}

void large_free(void *p, size_t size)
{
	if (p && size >= LARGE)
		munmap(p, mapped(size));
	else
		free(p);
}

size_t large_round(size_t size)
{
	return size < LARGE ? size : (size + LARGE - 1) / LARGE * LARGE;
}
