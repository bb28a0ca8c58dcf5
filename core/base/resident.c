/* resident.c - the segments of this program that are only read (base/resident.h). */
#include "base/resident.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static int drop(struct dl_phdr_info *info, size_t size, void *ctx)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from =
			(info->dlpi_addr + p->p_vaddr + PAGE - 1) & -(uintptr_t)PAGE;
		uintptr_t to =
			(info->dlpi_addr + p->p_vaddr + p->p_memsz) & -(uintptr_t)PAGE;

		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) && from < to)
			madvise((void *)from, to - from, MADV_DONTNEED);
	}
	return 1; /* the program is the first of them */
}

void resident_drop(void)
{
	dl_iterate_phdr(drop, NULL);
}
