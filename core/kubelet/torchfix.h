/*
 * torchfix.h - work around PyTorch 1.13 on Python 3.11 and later, as packaged by Debian
 * 12.
 *
 * Its torchrun fails there with "'NoneType' object has no attribute 'get'" before it
 * starts anything. System files are not changed: a container that would start this
 * torchrun gets a directory with a sitecustomize.py (core/assets/torch) at the front of
 * its PYTHONPATH.
 */
#ifndef KUBELET_TORCHFIX_H
#define KUBELET_TORCHFIX_H

#include "kubelet/podenv.h"

#define TORCHFIX_NOTE                                                               \
	"torchrun of PyTorch 1.13 fails on Python 3.11: worked around in this run " \
	"by a sitecustomize.py on PYTHONPATH"

/*
 * Would this command run that torchrun? Follows its PATH to the interpreter of
 * torchrun, or python3, and to the first torch among its packages.
 */
bool torchfix_needed(const struct podenv *env);
/* Does the command itself, and not only a script that it runs, contain torchrun? */
bool torchfix_named(const struct podenv *env);

/* Write `text` into `dir`, unless present, and add `dir` to the environment. */
MUST_CHECK int torchfix_apply(struct arena *arena, const char *dir, const char *text,
			      struct podenv *env, struct error *err);

#endif
