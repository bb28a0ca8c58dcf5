/*
 * compiling.h - find out whether a pod compiles code.
 *
 * Libraries of PyTorch compile operators at their first use (DeepSpeed, torch.compile),
 * for minutes and without a line. A compiler is recognized by its process's name.
 */
#ifndef KUBELET_COMPILING_H
#define KUBELET_COMPILING_H

#include "base/arena.h"

struct kubelet;

/*
 * The pod of which a process compiles code, valid until the next kubelet_poll(), and the
 * name of the file, or of the compiler if that is not known, in the arena; NULL: none
 * does. Reads /proc.
 */
const char *kubelet_compiling(const struct kubelet *k, struct arena *a,
			      const char **ret_file);

#endif
