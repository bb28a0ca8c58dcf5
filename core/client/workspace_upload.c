/* workspace_upload.c - ConfigMap first, then resume (client/workspace_upload.h). */
#include "client/workspace_upload.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "trainer/trainjob.h"

#define FIELD_MANAGER "kftrainer"
#define RESUME        "resume"
#define STAY          "stay" /* the TrainJob suspend_after suspended */

int workspace_check_served(const cJSON *answer, struct error *err)
{
	if (workspace_is_served(answer))
		return 0;
	return error_set(
		err, ERR_UNSUPPORTED,
		"--workspace: this cluster cannot unpack workspaces: its Trainer is not "
		"kftrainer, or its webhooks do not answer; run 'kftrainer install'");
}

void workspace_hold(cJSON *tj, bool suspend_after)
{
	meta_set_annotation(tj, WORKSPACE_AWAITED_ANNOTATION,
			    suspend_after ? STAY : RESUME);
	tj_set_suspend(tj, true);
}

bool workspace_is_awaited(const cJSON *tj, const char *digest)
{
	struct workspace w;

	return meta_annotation(tj, WORKSPACE_AWAITED_ANNOTATION) &&
	       !workspace_of(&w, tj, IGNORED) && str_eq(w.digest, digest);
}

/* The ConfigMap exists. 0: it is ours, from an earlier run; ERR_EXISTS: it is not. */
static int check_there(struct kube *k, const cJSON *map, const cJSON *tj,
		       struct error *err)
{
	const struct kube_ref ref = kube_ref_of(map);
	cleanup_json cJSON *stored = NULL;

	if (kube_get(k, &ref, &stored, err))
		return -1;
	if (meta_is_controlled(stored, tj) &&
	    json_equal(json_get(stored, "binaryData"), json_get(map, "binaryData")))
		return 0;
	return error_set(
		err, ERR_EXISTS,
		"ConfigMap %s/%s already exists and does not belong to this TrainJob",
		ref.ns, ref.name);
}

static int put_map(struct kube *k, const struct workspace_upload *upload, const cJSON *tj,
		   bool dry_run, struct error *err)
{
	cleanup_json cJSON *map =
		workspace_configmap(tj, upload->digest, upload->data, upload->len);
	const struct kube_write how = { .manager = FIELD_MANAGER,
					.meta_only = true,
					.exists_ok = true,
					.dry_run = dry_run };
	struct error why = { 0 };

	if (kube_create(k, map, &how, NULL, &why) == 0)
		return 0;
	if (why.kind == ERR_EXISTS && !dry_run)
		return check_there(k, map, tj, err);
	*err = why;
	return -1;
}

int workspace_upload_dry_run(struct kube *k, const struct workspace_upload *upload,
			     const cJSON *answer, struct error *err)
{
	if (!upload->data || put_map(k, upload, answer, true, err) == 0)
		return 0;
	return error_wrap(err, "the workspace");
}

int workspace_upload_send(struct kube *k, const struct workspace_upload *upload,
			  cJSON **tj, struct error *err)
{
	const char *then = meta_annotation(*tj, WORKSPACE_AWAITED_ANNOTATION);
	const struct kube_ref ref = kube_ref_of(*tj);
	const struct kube_write how = { .manager = FIELD_MANAGER };
	cleanup_json cJSON *patch = cJSON_CreateObject();
	cJSON *now = NULL;

	if (!then)
		return 0;
	if (put_map(k, upload, *tj, false, err))
		return error_wrap(err, "the workspace");
	json_put(patch, cJSON_CreateNull(), "metadata", "annotations",
		 WORKSPACE_AWAITED_ANNOTATION);
	meta_set_uid(patch, meta_uid(*tj));
	if (str_eq(then, RESUME))
		tj_set_suspend(patch, false);
	if (kube_merge_patch(k, &ref, patch, &how, &now, err))
		return error_wrap(
			err, "the workspace was delivered, but the job was not resumed");
	cJSON_Delete(*tj);
	*tj = now;
	return 0;
}
