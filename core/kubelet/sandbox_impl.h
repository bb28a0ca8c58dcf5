/* sandbox_impl.h - between sandbox.c and sandbox_mount.c; both run after the clone. */
#ifndef KUBELET_SANDBOX_IMPL_H
#define KUBELET_SANDBOX_IMPL_H

#include "kubelet/sandbox.h"

/* 0; or -1 with errno, and the failed step in `what` (244 bytes). */
int sandbox_mounts(const struct sandbox_plan *plan, char *what, size_t size);

/* Enough of printf for a process that must not allocate: joins strings, cuts. */
void sandbox_join(char *to, size_t size, const char *a, const char *b, const char *c);

/* Call fn for every entry of an open directory but "." and ".."; -1 with errno. */
int sandbox_each_entry(int dir, int (*fn)(void *ctx, const char *name), void *ctx);

#endif
