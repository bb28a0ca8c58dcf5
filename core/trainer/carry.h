/*
 * carry.h - put our program into containers of other images.
 *
 * An init container CARRY_CONTAINER of our image copies the program and its links
 * (`kftrainer runtime carry`) into the emptyDir CARRY_VOLUME, which other containers of
 * the pod mount read-only at CARRY_PATH.
 */
#ifndef TRAINER_CARRY_H
#define TRAINER_CARRY_H

#include "trainer/plugin.h"

#define CARRY_PATH      "/opt/kftrainer"
#define CARRY_PROGRAM   "kftrainer" /* in CARRY_PATH; the links point to it */
#define CARRY_CONTAINER "kftrainer"
#define CARRY_VOLUME    "kftrainer-bin"

/* Names of the links: commands of the program. NULL ends the list. */
extern const char *const carry_links[];

/* Our image, for containers that a plugin adds. */
const char *carry_image(const struct plugin_env *env);

/*
 * Mount the program in container `c` of the pods of `ps`. The first call for a pod adds
 * the volume and, after the runtime's own, the init container, with the size and user of
 * `c`.
 * ERR_INVALID: the runtime has a container or volume of that name.
 */
MUST_CHECK int carry_into(const struct plugin_env *env, const struct pod_set *ps,
			  cJSON *c, struct error *err);

#endif
