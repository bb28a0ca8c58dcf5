/*
 * image.h - the name of this program's image, for init containers in the jobs' pods.
 */
#ifndef MANAGER_IMAGE_H
#define MANAGER_IMAGE_H

#include "base/arena.h"
#include "kube/kube.h"

/* That of this process's pod (`ns`, the host name). In the arena; NULL after a warning. */
const char *image_of_this_pod(struct arena *arena, struct kube *kube, const char *ns);

#endif
