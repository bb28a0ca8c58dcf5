/*
 * venv.h - a Python environment for pods of this machine: a directory of venv, virtualenv
 * or uv (it has pyvenv.cfg), or of conda (conda-meta).
 */
#ifndef KUBELET_VENV_H
#define KUBELET_VENV_H

#include "base/arena.h"
#include "base/error.h"

/*
 * Is it one, with an interpreter? ERR_INVALID: the path is not absolute, there is no such
 * directory, or it is no environment; the message begins with the path.
 */
MUST_CHECK int venv_check(const char *dir, struct error *err);

/*
 * `env` as the environment's activate script leaves it: its bin comes first in PATH,
 * VIRTUAL_ENV or CONDA_PREFIX names it, and PYTHONHOME is unset. In the arena; both end
 * with NULL.
 */
const char *const *venv_environ(struct arena *arena, const char *const *env,
				const char *dir);

#endif
