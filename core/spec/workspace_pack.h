/*
 * workspace_pack.h - `submit --workspace DIR`: pack a directory, upload it for the pods.
 */
#ifndef SPEC_WORKSPACE_PACK_H
#define SPEC_WORKSPACE_PACK_H

#include "base/opt.h"
#include "pack/pack.h"
#include "spec/job.h"
#include "trainer/workspace_spec.h"

struct workspace_opts {
	const char *dir, *to, *secret;
	struct opt_strs include;
	bool keep;
	bool dev; /* `dir` may be one file; with the limits of 'kftrainer rerun' */
	/* Without `dir`: an archive of pack_folder(), and where it is from; NULL: none. */
	const struct buf *archive;
	const char *from;
};

/* Rows of a table of options; `s` has a member `struct workspace_opts workspace`. */
/* clang-format off */
#define WORKSPACE_OPTIONS(s) \
	OPT_STR(0, "workspace", "DIR", "ship a directory as the job's working directory", \
		s, workspace.dir), \
	OPT_STRS(0, "include", "PATH", "include a file that would be excluded", \
		 s, workspace.include), \
	OPT_STR(0, "workspace-to", "URI", "upload archives over 1 MiB to s3://... or hf://...", \
		s, workspace.to), \
	OPT_STR(0, "workspace-secret", "NAME", "Secret with credentials for pods to read that URI", \
		s, workspace.secret), \
	OPT_BOOL(0, "keep", "keep the job, suspended, if the upload fails", \
		 s, workspace.keep)
/* clang-format on */

/* A packed directory to upload with its TrainJob (client/workspace_upload.h). */
struct workspace_upload {
	const char *digest;
	const void *data; /* the archive; NULL: upload no ConfigMap with it */
	size_t len;
	/*
	 * An archive that no ConfigMap holds: only a local API takes it. NULL: it fits, or
	 * is at a URI.
	 */
	const char *path;
	const char *too_large; /* the message for the user of a cluster */
};

/* A job runs on this machine, is printed, or is sent to the API of a kubeconfig. */
enum workspace_target { WORKSPACE_LOCAL, WORKSPACE_PRINTED, WORKSPACE_API };

struct workspace_pack {
	struct arena arena;
	struct pack_summary summary;
	struct workspace
		annotations; /* the TrainJob's annotations; no digest: no workspace */
	struct workspace_upload upload; /* the contents of the ConfigMap */
	const char *dir;                /* the user's */
	const char *to, *name; /* the URI, and the archive's name below it; or NULL */
	const char *folder;    /* temporary, with WORKSPACE_FILE in it; or NULL */
	struct buf data;
	const struct reporter *warnings;
};

/* ERR_USAGE: an option without the one that it requires. */
MUST_CHECK int workspace_check_opts(const struct workspace_opts *o, bool local,
				    struct error *err);

/*
 * Pack o->dir, if set. ERR_LIMIT, for WORKSPACE_PRINTED: the archive is too large for a
 * ConfigMap, and no URI was given; the message names the largest files, and is
 * upload.too_large for WORKSPACE_API. `warnings` is borrowed until
 * workspace_pack_release().
 */
MUST_CHECK int workspace_pack_dir(struct workspace_pack *ret,
				  const struct workspace_opts *o,
				  enum workspace_target target,
				  const struct reporter *warnings, struct error *err);
/* Add the ConfigMap to the objects of each job, for a client-side dry run. */
void workspace_pack_add_objects(const struct workspace_pack *s, struct job_set *set);
void workspace_pack_release(
	struct workspace_pack *s); /* removes the temporary directory */
#define cleanup_workspace_pack __attribute__((cleanup(workspace_pack_release)))

#endif
