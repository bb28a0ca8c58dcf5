/*
 * workspace_mount.h - a packed workspace for the pods of this machine: unpacked and
 * mounted at WORKSPACE_PATH by each, or where mounts are not possible one copy for all.
 */
#ifndef LOCAL_WORKSPACE_MOUNT_H
#define LOCAL_WORKSPACE_MOUNT_H

#include "base/json.h"

/*
 * `folder` has WORKSPACE_FILE in it, and stays as long as the job runs. Changes the
 * JobSet among `objects`. *ret_shared: it is one copy, not at WORKSPACE_PATH.
 */
MUST_CHECK int workspace_mount(cJSON *objects, const char *folder, const char *digest,
			       bool *ret_shared, struct error *err);

#endif
