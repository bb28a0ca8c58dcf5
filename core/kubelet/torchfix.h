/*
 * torchfix.h - work around faults of Debian's PyTorch.
 *
 * torchrun of 1.13 (Debian 12) fails on Python 3.11 and later with "'NoneType' object
 * has no attribute 'get'" before it starts anything; that of 2.6 (Debian 13), which is
 * built without libuv, with "use_libuv was requested". System files are not changed: a
 * container that would start this torchrun gets a directory with a sitecustomize.py
 * (core/assets/torch) at the front of its PYTHONPATH.
 */
#ifndef KUBELET_TORCHFIX_H
#define KUBELET_TORCHFIX_H

#include "kubelet/podenv.h"

#define TORCHFIX_NOTE                                                                    \
	"torchrun of this PyTorch of Debian fails by itself: worked around in this run " \
	"by a sitecustomize.py on PYTHONPATH"

/*
 * The port at which PyTorch's ranks meet in a container that has this variable, in place of
 * 29500: for ranks of mpirun, to which nobody gives a port of their own job.
 */
#define TORCHFIX_PORT "KFTRAINER_TORCH_PORT"

/*
 * Would this command run that torchrun? Follows its PATH to the interpreter of
 * torchrun, or python3, and to the first torch among its packages.
 */
bool torchfix_needed(const struct podenv *env);
/*
 * Does the command itself, and not only a script that it runs, contain torchrun? Not if
 * it sets PATH or activates an environment first.
 */
bool torchfix_named(const struct podenv *env);

/*
 * A note if the command's torchrun is none of the Python environment that is active: it
 * starts the script with its own Python, in which that environment's packages are not.
 * NULL: nothing to say.
 */
const char *torchfix_foreign(struct arena *arena, const struct podenv *env);

/* Write `text` into `dir`, unless present, and add `dir` to the environment. */
MUST_CHECK int torchfix_apply(struct arena *arena, const char *dir, const char *text,
			      struct podenv *env, struct error *err);

#endif
