/*
 * workspace.h - `submit --workspace DIR`: the folder, packed and ready to go.
 */
#ifndef CMD_WORKSPACE_H
#define CMD_WORKSPACE_H

#include "base/opt.h"
#include "client/workspace.h"
#include "pack/pack.h"
#include "spec/job.h"

struct workspace_opts {
	const char *dir, *to, *secret;
	struct opt_strs include;
	bool keep;
};

/* Their rows in a table of options; `s` has a member `struct workspace_opts workspace`. */
/* clang-format off */
#define WORKSPACE_OPTIONS(s) \
	OPT_STR(0, "workspace", "DIR", "ship a folder: what the job starts in", \
		s, workspace.dir), \
	OPT_STRS(0, "include", "PATH", "a file of it that would be left out", \
		 s, workspace.include), \
	OPT_STR(0, "workspace-to", "URI", "by way of s3://..., for what is too large", \
		s, workspace.to), \
	OPT_STR(0, "workspace-secret", "NAME", "Secret with which pods read that", \
		s, workspace.secret), \
	OPT_BOOL(0, "keep", "a job whose folder did not arrive stays, suspended", \
		 s, workspace.keep)
/* clang-format on */

struct shipment {
	struct arena arena;
	struct pack_summary summary;
	struct workspace says;        /* what the TrainJob carries */
	struct workspace_cargo cargo; /* what the ConfigMap has */
	const char *dir;              /* the user's */
	const char *to, *name; /* the place, and what it is called there; or NULL */
	const char *folder;    /* of ours, with WORKSPACE_FILE in it; or NULL */
	struct buf data;
};

/* Do they go together? */
MUST_CHECK int workspace_check_opts(const struct workspace_opts *o, bool local,
				    struct error *err);

/*
 * Pack o->dir, and tell what was left out. Nothing when there is none. For a cluster: ERR_LIMIT where it is too large
 * and no place was given.
 */
MUST_CHECK int shipment_pack(struct shipment *ret, const struct workspace_opts *o,
			     bool local, bool quiet, struct error *err);
/*
 * Off it goes (which is told), to the place that was given, if one was; what is there
 * already is not sent again.
 */
MUST_CHECK int shipment_upload(struct shipment *s, bool quiet, struct error *err);
/* Let the objects of a job on this machine use it. */
MUST_CHECK int shipment_bind_local(struct shipment *s, cJSON *objects, struct error *err);
/* The ConfigMap to the objects of each job: what a client's dry run shows. */
void shipment_add(const struct shipment *s, struct job_set *set);
void shipment_release(struct shipment *s);
#define cleanup_shipment __attribute__((cleanup(shipment_release)))

#endif
