/*
 * plugin.h - what a policy may do to a TrainJob.
 *
 * A plugin is one constant struct; a member left NULL means it takes no part
 * in that phase. plugins/plugins.c lists them, and within a phase they run in
 * the order of that list (upstream's order is random per process; any fixed
 * order is one of its orders).
 *
 *     when        here                             upstream's extension point
 *     admission   validate                         CustomValidation
 *     build       edit[ENFORCE_ML_POLICY]          EnforceMLPolicy
 *                 edit[ENFORCE_POD_GROUP_POLICY]   EnforcePodGroupPolicy
 *                 edit[ENFORCE_POD_SPEC]           EnforcePodSpec
 *                 edit[PRE_BUILD_SYNC]             PreBuildSync
 *                 build                            ComponentBuilder
 *     afterwards  status                           TrainJobStatus
 *
 * Upstream's WatchExtension is the table of manager/watch.c. Plugins do not log, keep no
 * state and do not know each other. They reach the outside only through env.
 */
#ifndef TRAINER_PLUGIN_H
#define TRAINER_PLUGIN_H

#include "api/field.h"
#include "trainer/info.h"

/*
 * Makes key material; PEM or text as the objects carry it, in the arena. The
 * controller gives a real one; a client's dry run gives keys_placeholder.
 */
struct key_source {
	int (*ssh)(void *ctx, struct arena *arena, const char **ret_private_pem,
		   const char **ret_authorized_key, struct error *err);
	int (*curve)(void *ctx, struct arena *arena, char ret_public_z85[41],
		     char ret_secret_z85[41], struct error *err);
	void *ctx;
};
extern const struct key_source keys_placeholder; /* fixed, marked, useless as keys */

struct object_ref {
	const char *api_version, *kind, *ns, *name; /* ns NULL: cluster-wide */
};

/* What a plugin may ask of its environment. Empty members: not available. */
struct plugin_env {
	const struct key_source *keys;
	/*
	 * An object of the cluster, the callee's until the request ends, or NULL
	 * when absent. -1 only on failure to ask.
	 */
	int (*get)(void *ctx, const struct object_ref *ref, const cJSON **ret,
		   struct error *err);
	void *ctx;
	const char *image; /* ours, for init containers; NULL: "kftrainer:<version>" */
	const char *cluster_domain;    /* of Services; NULL: "cluster.local" */
	bool status_server;            /* the feature gate TrainJobStatus */
	bool claims_off;               /* not the feature gate TrainJobResourceClaims */
	const char *status_server_url; /* "https://<service>.<ns>.svc:<port>" */
	const char *status_server_ca;  /* PEM, for <tj>-tls-config */
};

/* The phases that only edit Info, in the order they run. */
enum edit_phase {
	ENFORCE_ML_POLICY,
	ENFORCE_POD_GROUP_POLICY,
	ENFORCE_POD_SPEC,
	PRE_BUILD_SYNC,
	N_EDIT_PHASES,
};

typedef int edit_fn(const struct plugin_env *env, struct info *info, const cJSON *tj,
		    struct error *err);

struct plugin {
	const char *name;
	/*
	 * The member of mlPolicy or podGroupPolicy that it serves: without that in the
	 * runtime it takes no part at all. NULL: it always does.
	 */
	const char *policy;
	bool cluster_only; /* this machine has no launcher for it: --local refuses */

	/*
	 * info is what pipeline_build() would start from: the live runtime with the
	 * job's patches, unless these name what it does not have.
	 */
	void (*validate)(const struct plugin_env *env, struct info *info,
			 const cJSON *old, const cJSON *now, struct field_errors *errs);

	edit_fn *edit[N_EDIT_PHASES];

	/* Appends the objects to apply to the JSON array `objects`. */
	int (*build)(const struct plugin_env *env, struct info *info, const cJSON *tj,
		     cJSON *objects, struct error *err);

	/*
	 * Edits `status` (the TrainJob's) from what the cluster has; one plugin of a
	 * list has it.
	 */
	int (*status)(const struct plugin_env *env, const cJSON *tj, const cJSON *jobset,
		      cJSON *status, struct error *err);
};

#endif
