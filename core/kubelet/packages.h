/*
 * packages.h - packages that a container's command installs stay in the pod.
 *
 * In a cluster `pip install` changes the container's copy of its image. On this machine the
 * Python is the user's: each directory of it that pip would change is covered by an overlay
 * (Linux' overlayfs), whose changes are in the pod's directory and go with it. Packages
 * that are installed already are seen, and can be replaced or removed in the pod.
 */
#ifndef KUBELET_PACKAGES_H
#define KUBELET_PACKAGES_H

#include <stdbool.h>

#include "kubelet/podenv.h"
#include "kubelet/volumes.h"

enum { PACKAGES_MAX = 8 }; /* directories that packages_cover() appends at most */

/* Does the command install packages? It names an installer of Python's (pip, uv, conda). */
bool packages_installed(const struct podenv *env);

/*
 * Append the directories to be covered to `list`; changes go below `dir`, which is
 * created. If the user has no packages, theirs are installed below `dir`, by env->envp.
 * `mounts` false: nothing can be covered, so pip is told to install below `dir`, where it
 * does not see what is installed. ERR_IO.
 */
MUST_CHECK int packages_cover(struct arena *arena, const char *dir, bool mounts,
			      struct podenv *env, struct mount_list *list,
			      struct error *err);

#endif
