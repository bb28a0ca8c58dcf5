/*
 * image.h - the name of this program's image, for init containers in the jobs' pods.
 */
#ifndef MANAGER_IMAGE_H
#define MANAGER_IMAGE_H

#include "base/arena.h"
#include "kube/kube.h"

/*
 * The image of this process's pod, which is named as the host, in `ns`. In the arena;
 * NULL if it cannot be read, which is logged as a warning.
 */
const char *image_of_this_pod(struct arena *arena, struct kube *kube, const char *ns);

#endif
