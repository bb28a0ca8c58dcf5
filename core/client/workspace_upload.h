/*
 * workspace_upload.h - upload a packed workspace to a cluster, together with its TrainJob.
 *
 *     workspace_check_served()  on the answer to a dry run: is our controller there?
 *     workspace_hold()          before the TrainJob is created: suspend the TrainJob
 *     workspace_upload_send()   create the ConfigMap, owned by the TrainJob, and resume
 *
 * If the program is stopped between the last two, the TrainJob stays suspended, and an
 * annotation records what is missing: workspace_is_awaited() is true, and
 * workspace_upload_send() continues from there. Both can be repeated any number of times.
 */
#ifndef CLIENT_WORKSPACE_UPLOAD_H
#define CLIENT_WORKSPACE_UPLOAD_H

#include "kube/kube.h"
#include "spec/workspace_pack.h"

/* Has the TrainJob to wait for an archive that this program delivers? */
bool workspace_upload_is_due(const struct workspace_upload *upload);

/* ERR_UNSUPPORTED: no controller in this cluster unpacks workspaces. */
MUST_CHECK int workspace_check_served(const cJSON *answer, struct error *err);

/*
 * A dry run: does the API server accept the ConfigMap, or a local API the archive
 * (ERR_LIMIT: neither)? `answer` is the TrainJob as the API server returned it, perhaps to
 * a dry run.
 */
MUST_CHECK int workspace_upload_dry_run(struct kube *k,
					const struct workspace_upload *upload,
					const cJSON *answer, struct error *err);

/* suspend_after: its user, or a queue, wants the TrainJob suspended after the upload. */
void workspace_hold(cJSON *tj, bool suspend_after);
/* Does the TrainJob wait for the workspace with this digest? */
bool workspace_is_awaited(const cJSON *tj, const char *digest);

/*
 * Create the ConfigMap, then resume the TrainJob unless it is to stay suspended. *tj is
 * the TrainJob as the API server returned it; the updated one replaces it. Does nothing
 * if it waits for no workspace. ERR_EXISTS: another owner's ConfigMap has the name.
 */
MUST_CHECK int workspace_upload_send(struct kube *k,
				     const struct workspace_upload *upload, cJSON **tj,
				     struct error *err);

#endif
