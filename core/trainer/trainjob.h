/*
 * trainjob.h - the fields of a TrainJob, v1alpha1.
 *
 * trainjob.c is the only file with TrainJob's keys. A member that is absent, null or of
 * another type is NULL (ABSENT for an integer). Results are owned by the document.
 */
#ifndef TRAINER_TRAINJOB_H
#define TRAINER_TRAINJOB_H

#include "base/json.h"

enum { ABSENT = -1 };

/* spec.runtimeRef: the object itself, and its parts ("" when absent). */
struct runtime_ref {
	const char *group, *kind, *name;
};
struct runtime_ref tj_runtime_ref(const cJSON *tj);
bool runtime_ref_is_cluster(const struct runtime_ref *ref);

/* ERR_INVALID "unsupported runtime: <kind>.<group>": not one of the two runtime kinds. */
MUST_CHECK int tj_check_runtime_ref(const cJSON *tj, struct error *err);

/* A new object with the members in upstream's order, for error messages. */
cJSON *tj_runtime_ref_value(const cJSON *tj);

const cJSON *tj_trainer(const cJSON *tj); /* spec.trainer, or NULL */
const cJSON *tj_trainer_member(const cJSON *tj, const char *key); /* as it was written */
int64_t tj_num_nodes(const cJSON *tj);
int64_t tj_num_proc_per_node(const cJSON *tj);
const char *tj_image(const cJSON *tj);
const cJSON *tj_command(const cJSON *tj);
const cJSON *tj_args(const cJSON *tj);
const cJSON *tj_env(const cJSON *tj);
const cJSON *tj_resources_per_node(const cJSON *tj);
const cJSON *tj_resource_claims(const cJSON *tj); /* resourceClaimsPerNode, or NULL */
const cJSON *trainer_claim_containers(const cJSON *claim); /* of one of them, or NULL */

enum initializer { INIT_DATASET, INIT_MODEL, N_INITIALIZERS };
extern const char *const initializer_name[N_INITIALIZERS]; /* "dataset-initializer" */

const cJSON *tj_initializer(const cJSON *tj, enum initializer which); /* or NULL */
const char *initializer_storage_uri(const cJSON *initializer);
const cJSON *initializer_env(const cJSON *initializer);
const char *initializer_secret(const cJSON *initializer); /* secretRef.name */

/* spec.runtimePatches and the parts of one of them. */
const cJSON *tj_runtime_patches(const cJSON *tj);
const char *patch_manager(const cJSON *patch);
const cJSON *patch_metadata(const cJSON *patch); /* labels, annotations of the JobSet */
const cJSON *patch_jobset_spec(const cJSON *patch); /* to merge into template.spec */

bool tj_suspend(const cJSON *tj);
void tj_set_suspend(cJSON *tj, bool suspend);
const cJSON *tj_suspend_node(const cJSON *tj); /* as it was written, or NULL */
int64_t tj_active_deadline(const cJSON *tj);   /* seconds, or ABSENT */
int64_t tj_ttl(const cJSON *tj);               /* ttlSecondsAfterFinished, or ABSENT */
bool tj_is_ours(const cJSON *tj);              /* spec.managedBy is ours or absent */
const cJSON *tj_status(const cJSON *tj);

/* The job's own annotation, else that of its runtime's template; or NULL. */
const char *tj_annotation(const cJSON *tj, const cJSON *template_annotations,
			  const char *key);

/* True: the specs are equal except for suspend and the TTL, which never fail. */
bool tj_same_but_suspend(const cJSON *a, const cJSON *b);

/*
 * As upstream's mutating webhook, set the time of each of runtimePatches. `old` is NULL
 * on create; `now` is RFC 3339. On update, an unchanged patch has its old time,
 * regardless of the time that the user sent.
 */
void tj_default_patch_times(cJSON *tj, const cJSON *old, const char *now);
/*
 * An update that drops the TTL and changes suspend or runtimePatches is of a client that
 * does not know of it, as Kueue 0.19: it stays. `old` is NULL on create.
 */
void tj_keep_ttl(cJSON *tj, const cJSON *old);
/*
 * Typed clients, as Kueue, leave out `value: ""`, `readOnly: false` and the like when they
 * update a job. The fields are immutable for the schema: what differs from the old only by
 * these is as before. `old` is NULL on create.
 */
void tj_keep_empty(cJSON *tj, const cJSON *old);

/* Make a TrainJob from options instead of a file (spec/jobspec.c); the caller's. */
cJSON *tj_new(const char *name, const char *runtime);
void tj_set_runtime_kind(cJSON *tj, const char *kind);
void tj_set_image(cJSON *tj, const char *image);
void tj_set_num_nodes(cJSON *tj, int64_t n);
void tj_set_num_proc_per_node(cJSON *tj, int64_t n);
void tj_merge_env(cJSON *tj, const cJSON *env); /* each replaces one, or is appended */
void tj_set_storage_uri(cJSON *tj, enum initializer which, const char *uri);
void tj_add_command(cJSON *tj, const char *word);
void tj_add_arg(cJSON *tj, const char *word);
/* Set a resource of each node, as limit and request. */
void tj_set_resource(cJSON *tj, const char *resource, const char *quantity);

#endif
