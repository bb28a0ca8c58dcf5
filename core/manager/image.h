/*
 * image.h - what our own image is called, for init containers in the jobs' pods.
 */
#ifndef MANAGER_IMAGE_H
#define MANAGER_IMAGE_H

#include "base/arena.h"
#include "kube/kube.h"

/*
 * As this process's pod (`ns`, the host name) has it: whoever installed or changed the
 * Deployment, in whatever way, said it there. NULL: it could not be read, which is
 * logged. In the arena.
 */
const char *image_of_this_pod(struct arena *arena, struct kube *kube, const char *ns);

#endif
