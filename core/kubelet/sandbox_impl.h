/* sandbox_impl.h - shared by sandbox.c and sandbox_mount.c; both run after the clone. */
#ifndef KUBELET_SANDBOX_IMPL_H
#define KUBELET_SANDBOX_IMPL_H

#include "kubelet/sandbox.h"

/* Do the plan's mounts. -1 with errno, and the failed step in `what` (244 bytes). */
int sandbox_mounts(const struct sandbox_plan *plan, char *what, size_t size);

/* Join strings without allocating; a too long result is truncated. */
void sandbox_join(char *to, size_t size, const char *a, const char *b, const char *c);

void sandbox_digits(char *to, size_t size, unsigned n); /* the number, in decimal */

/* Call fn for every entry of an open directory but "." and ".."; -1 with errno. */
int sandbox_each_entry(int dir, int (*fn)(void *ctx, const char *name), void *ctx);

#endif
