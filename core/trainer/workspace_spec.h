/*
 * workspace_spec.h - the annotations and objects of a workspace, the directory of `submit
 * --workspace`.
 *
 * The TrainJob's annotations have the archive's digest (pack/pack.h) and location: a
 * ConfigMap owned by the TrainJob, or a URI. plugins/workspace.c adds an init container
 * of our image that unpacks it into a volume of each training pod, at WORKSPACE_PATH.
 * workspace_spec.c is the only file with these names.
 */
#ifndef TRAINER_WORKSPACE_SPEC_H
#define TRAINER_WORKSPACE_SPEC_H

#include "base/arena.h"
#include "base/json.h"

#define WORKSPACE_ANNOTATION "kftrainer.io/workspace" /* sha256:<hex> */
#define WORKSPACE_FROM_ANNOTATION \
	"kftrainer.io/workspace-from" /* a URI; else the ConfigMap */
#define WORKSPACE_SECRET_ANNOTATION \
	"kftrainer.io/workspace-secret" /* variables for that URI */
/* Set by our admission webhook: this cluster's controller unpacks workspaces. */
#define WORKSPACE_SERVED_ANNOTATION "kftrainer.io/workspace-served"
/* Until the ConfigMap exists: the value that spec.suspend will get. */
#define WORKSPACE_AWAITED_ANNOTATION "kftrainer.io/workspace-awaited"

/*
 * Set by `controller --local`, whose pods read archives of any size from its directory:
 * "KEY DIRECTORY". The file WORKSPACE_STORE_KEY of the directory contains the key, which
 * proves that the client sees the same directory; the archive is
 * DIRECTORY/WORKSPACE_STORE/DIGEST/WORKSPACE_FILE, and the ConfigMap, marked as
 * WORKSPACE_STORED_ANNOTATION, is empty.
 */
#define WORKSPACE_STORE_ANNOTATION  "kftrainer.io/workspace-store"
#define WORKSPACE_STORED_ANNOTATION "kftrainer.io/workspace-stored"
#define WORKSPACE_STORE             "workspaces"
#define WORKSPACE_STORE_KEY         "workspaces.key"

#define WORKSPACE_PATH              "/mnt/workspace" /* pods' working directory */
#define WORKSPACE_ARCHIVE_PATH      "/mnt/workspace-archive"
#define WORKSPACE_FILE              "workspace.tar.zst"
#define WORKSPACE_CONTAINER         "workspace"
#define WORKSPACE_VOLUME            "kftrainer-workspace"
#define WORKSPACE_ARCHIVE           "kftrainer-workspace-archive" /* a volume, too */

/* The API server's limit of a ConfigMap's values in total (MaxSecretSize). */
enum { WORKSPACE_CONFIGMAP_MAX = 1024 * 1024 };

struct workspace {
	const char *digest; /* 64 lowercase hex digits; NULL: no workspace */
	const char *uri;    /* NULL: the ConfigMap */
	const char *secret; /* NULL: none */
};

/* Strings are owned by the TrainJob. ERR_INVALID: an invalid annotation. */
MUST_CHECK int workspace_of(struct workspace *ret, const cJSON *tj, struct error *err);
/* Annotate a new TrainJob with a workspace: this cluster's controller unpacks it. */
void workspace_served(cJSON *tj);
bool workspace_is_served(const cJSON *tj);
/* Set the annotations; digest NULL removes them, including those of the webhook. */
void workspace_annotate(cJSON *tj, const struct workspace *w);

/* "<TrainJob>-workspace-<first digits of the digest>" */
const char *workspace_configmap_name(struct arena *arena, const char *tj,
				     const char *digest);
void workspace_announce_store(cJSON *tj, const char *key, const char *dir);
/* NULL: no store is announced. *ret_key: the key that its file should contain. */
const char *workspace_store(struct arena *arena, const cJSON *tj, const char **ret_key);
/* DIRECTORY/WORKSPACE_STORE/DIGEST */
const char *workspace_store_place(struct arena *arena, const char *dir,
				  const char *digest);

/*
 * The ConfigMap with the archive, owned by the TrainJob, whose uid may be missing in a
 * dry run. data NULL: the archive is in the store.
 */
cJSON *workspace_configmap(const cJSON *tj, const char *digest, const void *data,
			   size_t len);

/* The arguments of our program to unpack it in a pod; owned by the caller. */
cJSON *workspace_unpack_args(const struct workspace *w);

/*
 * Edit the JSON array `objects` for a local run: the init containers run `program`, and
 * the archive is the file WORKSPACE_FILE in the directory `dir`.
 */
void workspace_bind_local(cJSON *objects, const char *program, const char *dir);
/* The same for a job of the local API, whose archives are in ConfigMaps or in `store`. */
void workspace_bind_stored(cJSON *objects, const char *program, const char *store);
/* If nothing can be mounted: all pods start in `dir`, which has the unpacked files. */
void workspace_bind_shared(cJSON *objects, const char *dir);

#endif
