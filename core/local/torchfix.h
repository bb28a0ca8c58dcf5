/*
 * torchfix.h - PyTorch 1.13 under Python 3.11 and later, as Debian 12 packs them.
 *
 * Its torchrun dies there of "'NoneType' object has no attribute 'get'" before it
 * has started anything. No file of the system is changed: a container that would
 * start that torchrun has a folder with a sitecustomize.py (core/assets/torch) in
 * front of its PYTHONPATH.
 */
#ifndef LOCAL_TORCHFIX_H
#define LOCAL_TORCHFIX_H

#include "local/podenv.h"

#define TORCHFIX_NOTE                                                              \
	"torchrun of PyTorch 1.13 fails under Python 3.11: corrected in the pods " \
	"of this run, by a sitecustomize.py in PYTHONPATH"

/*
 * Would this command run that torchrun? By what its PATH leads to: the interpreter
 * of torchrun, or python3, and the first torch among the packages of that.
 */
bool torchfix_needed(const struct podenv *env);
/* Does it name torchrun itself, and is not only one that a script of it may call? */
bool torchfix_named(const struct podenv *env);

/* `text` into `dir`, if it is not there yet, and `dir` into the environment. */
MUST_CHECK int torchfix_apply(struct arena *arena, const char *dir, const char *text,
			      struct podenv *env, struct error *err);

#endif
