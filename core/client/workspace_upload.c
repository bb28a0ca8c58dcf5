/* workspace_upload.c - ConfigMap first, then resume (client/workspace_upload.h). */
#include "client/workspace_upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "trainer/trainjob.h"

#define FIELD_MANAGER "kftrainer"
#define RESUME        "resume"
#define STAY          "stay" /* suspended after the upload, too */

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

bool workspace_upload_is_due(const struct workspace_upload *upload)
{
	return upload && (upload->data || upload->path);
}

/*
 * The directory of the local API, if it is on this machine and the caller's: in another
 * user's, links could lead anywhere, and its pods could not read the archive. Else NULL.
 */
static const char *find_store(struct arena *arena, const cJSON *answer)
{
	const char *key, *dir = workspace_store(arena, answer, &key);
	struct stat st;

	return dir && !lstat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
			       str_eq(file_first_line(
					      arena,
					      path_join(arena, dir, WORKSPACE_STORE_KEY)),
				      key)
		       ? dir
		       : NULL;
}

static int copy(const char *from, const char *to, struct error *err)
{
	cleanup_fd int in = open(from, O_RDONLY | O_CLOEXEC);
	cleanup_fd int out =
		open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	char data[65536];
	ssize_t n;

	if (in < 0 || out < 0)
		return error_errno(err, errno, "%s", in < 0 ? from : to);
	while ((n = read(in, data, sizeof(data))) > 0)
		if (file_write_fd(out, data, (size_t)n, to, err))
			return -1;
	return n ? error_errno(err, errno, "%s", from)
		 : file_close_written(&out, to, err);
}

/* Copy the archive into the store; one that is there is complete. */
static int store(const struct workspace_upload *upload, const cJSON *answer, bool dry_run,
		 struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *dir = find_store(&arena, answer), *file, *part;

	if (!upload->path)
		return 0;
	if (!dir)
		return error_set(err, ERR_LIMIT, "%s", upload->too_large);
	dir = workspace_store_place(&arena, dir, upload->digest);
	file = path_join(&arena, dir, WORKSPACE_FILE);
	if (dry_run || file_exists(file))
		return 0;
	part = arena_printf(&arena, "%s.%d", file, (int)getpid());
	if (dir_make(dir, 0700, err) || copy(upload->path, part, err) ||
	    (rename(part, file) && error_errno(err, errno, "%s", file))) {
		unlink(part);
		return -1;
	}
	return 0;
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
	if (!workspace_upload_is_due(upload))
		return 0;
	if (store(upload, answer, true, err))
		return -1;
	return put_map(k, upload, answer, true, err) ? error_wrap(err, "the workspace")
						     : 0;
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
	if (store(upload, *tj, false, err) || put_map(k, upload, *tj, false, err))
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
