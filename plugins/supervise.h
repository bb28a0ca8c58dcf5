/* supervise.h - the key that a job's supervisors share, for other containers of its pods. */
#ifndef PLUGINS_SUPERVISE_H
#define PLUGINS_SUPERVISE_H

#include "trainer/plugin.h"

#define SUPERVISE_KEY_PATH "/etc/kftrainer-supervise/key"

/* Mount it in container `c` of the pods of `ps`. ERR_INVALID: the volume's name is taken. */
MUST_CHECK int supervise_mount_key(struct info *info, const struct pod_set *ps, cJSON *c,
				   struct error *err);

#endif
