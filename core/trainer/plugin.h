/*
 * plugin.h - the interface of policies: how a plugin validates and builds a TrainJob.
 *
 * A plugin is a constant struct; in a phase whose member is NULL, it does nothing.
 * plugins/plugins.c lists the plugins, and within a phase they run in the order of that
 * list (upstream's order is random per process; any fixed order is one of its orders).
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
 * Upstream's WatchExtension is the table of manager/watch.c. Plugins do not log, have no
 * state and do not know each other. They do I/O only through env.
 */
#ifndef TRAINER_PLUGIN_H
#define TRAINER_PLUGIN_H

#include "api/field.h"
#include "trainer/info.h"

/*
 * Makes keys, as PEM or text for objects, in the arena. The controller has a real source;
 * a client's dry run uses keys_placeholder.
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

/* The environment of a plugin. A member that is empty is not available. */
struct plugin_env {
	const struct key_source *keys;
	/*
	 * Get an object of the cluster, owned by the callee and valid until the request
	 * ends, or NULL if absent. -1 only if the cluster did not answer.
	 */
	int (*get)(void *ctx, const struct object_ref *ref, const cJSON **ret,
		   struct error *err);
	void *ctx;
	const struct code_reader *code; /* for warnings (launcher.h) */
	const char *image; /* ours, for init containers; NULL: "kftrainer:<version>" */
	const char *cluster_domain; /* of Services; NULL: "cluster.local" */
	bool status_server;         /* the feature gate TrainJobStatus */
	bool claims_off;            /* the gate DynamicResourceAllocation is off */
	bool scheduling_off;        /* the gate TrainJobWorkloadAwareScheduling is off */
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
	 * The member of mlPolicy or podGroupPolicy that it implements; the plugin runs
	 * only if the runtime has it. NULL: it always runs.
	 */
	const char *policy;
	bool cluster_only; /* `submit --local` refuses the policy */

	/*
	 * info is the state with which pipeline_build() would start: the live runtime
	 * with the job's patches, unless they name jobs or containers that do not exist.
	 */
	void (*validate)(const struct plugin_env *env, struct info *info,
			 const cJSON *old, const cJSON *now, struct field_errors *errs);

	edit_fn *edit[N_EDIT_PHASES];

	/* Appends the objects to apply to the JSON array `objects`. */
	int (*build)(const struct plugin_env *env, struct info *info, const cJSON *tj,
		     cJSON *objects, struct error *err);

	/*
	 * Updates the TrainJob's `status` from its JobSet; at most one plugin of a list
	 * has it.
	 */
	int (*status)(const struct plugin_env *env, const cJSON *tj, const cJSON *jobset,
		      cJSON *status, struct error *err);
};

#endif
