/*
 * volumes.h - a pod's volumes as directories of this machine, and their mounts.
 *
 *     emptyDir               a new directory; medium Memory: one on a tmpfs
 *     configMap, secret,     files, written once, mounted read-only; a secret's are
 *     projected, downwardAPI 0600 unless the pod sets a mode, and on a tmpfs
 *     hostPath               that path, checked against its type
 *     persistentVolumeClaim  a directory that outlives the run, one a claim
 *     ephemeral              a directory of the run
 *
 * Anything else is refused. Paths inside a volume may not leave it.
 *
 * A missing mount point in the working directory (or, for a caller who is not root, in
 * any writable directory) is created, and remains, because files that the job writes next
 * to it must remain, too. Elsewhere the container, and only the container, sees a view of
 * the nearest directory with the mount point in it.
 */
#ifndef KUBELET_VOLUMES_H
#define KUBELET_VOLUMES_H

#include "kubelet/podenv.h"
#include "kubelet/sandbox.h"

struct volumes {
	const struct podenv_host *host;
	const struct podenv_pod *pod;
	const char *dir;     /* the pod's */
	const char *memory;  /* the pod's, on a tmpfs; NULL: none */
	const char *claims;  /* the directory of volumes that outlive the run */
	const char *run;     /* the directory of volumes that end with the run */
	const char *pod_key; /* of apiserver/pod_token.h; NULL: no tokens */
};

struct volume_mount {
	const char *source, *target; /* path on the machine; path in the container */
	bool read_only, is_dir;
	/*
	 * The path is only used through variables: without a mount namespace they get the
	 * source's path.
	 */
	bool by_env;
	bool overlay; /* cover the target, keep changes in the source (mount namespaces only) */
};

struct mount_list {
	struct volume_mount *mounts;
	size_t n;
	const char *workdir; /* mount points in it may be created, see above */
};

enum { VOLUMES_MORE = 16 };
/*
 * Make the volumes that the container's volumeMounts name; ret->mounts is in their order,
 * and has space for VOLUMES_MORE more. ERR_INVALID, ERR_NOT_FOUND, ERR_UNSUPPORTED, ERR_IO.
 */
MUST_CHECK int volumes_make(struct arena *arena, const struct volumes *v,
			    const struct podenv *env, struct mount_list *ret,
			    struct error *err);

/* The reason why this volume of a pod is not supported locally; NULL: it is. */
const char *volume_refusal(const cJSON *volume);

/* NULL, or the name of the missing ConfigMap or Secret of a volume. */
const char *volume_missing(const struct podenv_host *host, const cJSON *pod,
			   const cJSON *volume);

/* The member of a volume with its source, such as "emptyDir"; or NULL. */
const cJSON *volume_source(const cJSON *volume);

/*
 * The reason why no volume can be mounted at this path, or NULL: the path must be
 * absolute, without "..", and not one that the kernel needs.
 */
const char *mount_path_refusal(const char *path);

/* Plan the operations for a mount namespace, in order. */
MUST_CHECK int mountplan_build(struct arena *arena, const struct mount_list *list,
			       struct mount_op **ret, size_t *ret_n, struct error *err);

/*
 * Without a mount namespace: create symbolic links at unused mount points. A volume that
 * is at its path already (hostPath at its own path; a Memory emptyDir at /dev/shm) needs
 * none. *made lists the links that symlinks_remove() must remove.
 */
struct symlinks {
	const char *undo_dir; /* of their undo log (undolog.h), or NULL */
	char **paths;
	size_t n;
};
MUST_CHECK int symlinks_make(struct symlinks *made, const struct mount_list *list,
			     struct error *err);
void symlinks_remove(struct symlinks *made);

/* Can a symbolic link replace this volume at that path? */
bool symlink_possible(const cJSON *volume, const char *path);

#endif
