/*
 * workspace_mount.h - give a packed workspace to the pods of this machine: each unpacks
 * it and mounts it at WORKSPACE_PATH; where mounts are not possible, all share one copy.
 */
#ifndef KUBELET_WORKSPACE_MOUNT_H
#define KUBELET_WORKSPACE_MOUNT_H

#include "base/json.h"

/*
 * `folder` contains WORKSPACE_FILE and must exist as long as the job runs. Changes the
 * JobSet among `objects`. *ret_shared: all pods share one copy, not at WORKSPACE_PATH.
 */
MUST_CHECK int workspace_mount(cJSON *objects, const char *folder, const char *digest,
			       bool *ret_shared, struct error *err);

/*
 * The same for a job of the local API in the directory `server`: its pods unpack the
 * archive of their ConfigMap, or of the API's store (trainer/workspace_spec.h).
 */
MUST_CHECK int workspace_mount_stored(cJSON *objects, const char *server,
				      struct error *err);

#endif
