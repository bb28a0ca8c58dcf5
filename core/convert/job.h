/*
 * job.h - a job of V1 while it is converted: private to core/convert.
 */
#ifndef CONVERT_JOB_H
#define CONVERT_JOB_H

#include "convert/convert.h"

enum { MAX_ROLES = 5, NO_LIMIT = 2147483647 };

/* What a job's pods of one replica type are, and what they become. */
struct role {
	const char *name;  /* "Master"; NULL ends a kind's list */
	const char *rjob;  /* the replicatedJob that they become */
	const char *path;  /* "spec.pytorchReplicaSpecs.Master" */
	const cJSON *spec; /* the ReplicaSpec */
	const cJSON *template;
	const char *container; /* that becomes "node" */
	const char *restart;   /* its policy, the kind's where it says none */
	int64_t n;
	int64_t first; /* index of its first pod in the replicatedJob */
};

struct v1_job;
struct v1_kind {
	unsigned bit; /* in the table of fields */
	const char *kind, *version;
	const char *roles_key;        /* "pytorchReplicaSpecs" */
	const char *container, *port; /* that a pod must have; the port's name */
	const char *restart;          /* where a replica says none */
	const char *framework;        /* LABEL_FRAMEWORK */
	const char *policy;           /* member of mlPolicy; NULL: a plain one */
	bool one_template;            /* all roles are ranks of one replicatedJob */
	struct {
		const char *name, *rjob;
	} roles[MAX_ROLES + 1];
	void (*check)(struct v1_job *j);
	void (*env)(struct v1_job *j, const struct role *role, cJSON *container);
	void (*build)(struct v1_job *j);
};
extern const struct v1_kind v1_kinds[]; /* ends with kind NULL */

enum kind_bit {
	PYTORCH = 1 << 0,
	TENSORFLOW = 1 << 1,
	XGBOOST = 1 << 2,
	PADDLE = 1 << 3,
	JAX = 1 << 4,
	MPI = 1 << 5,
	MPI2 = 1 << 6,
	ALL = (1 << 7) - 1,
};

struct v1_job {
	const struct convert_conf *conf;
	const struct v1_kind *kind;
	struct convert_result *ret;
	struct arena *arena; /* the result's */
	const cJSON *obj, *spec, *policy /* runPolicy */, *elastic;
	const char *name;
	struct role roles[MAX_ROLES];
	size_t n_roles; /* those with pods */
	int64_t pods;
	cJSON *runtime, *job;
};

const struct role *role_find(const struct v1_job *j, const char *name); /* or NULL */
void refuse(struct v1_job *j, const char *path, const cJSON *value, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
void note(struct v1_job *j, enum grade grade, const char *path, const cJSON *value,
	  const char *says);

/* ---- check.c: what V1 refuses, or no TrainJob can do ---- */
void check_job(struct v1_job *j);
void check_pytorch(struct v1_job *j);
void check_xgboost(struct v1_job *j);
void check_tensorflow(struct v1_job *j);
void check_mpi(struct v1_job *j);

/* ---- roles.c ---- */
/* Its pod template as the replicatedJob has it; the caller's. */
cJSON *role_template(struct v1_job *j, const struct role *role);
/* The template of all roles together; what differs is noted or refused. */
cJSON *merged_template(struct v1_job *j);
/* Addresses of V1's pods in a text as they are now; the text itself when it has none. */
const char *rename_hosts(const struct v1_job *j, const char *text);

/* ---- build.c: the runtime and the TrainJob ---- */
void build_job(struct v1_job *j);
cJSON *find_rjob(struct v1_job *j, const char *name);
const char *pod_host(const struct v1_job *j, const char *rjob, int64_t index);
/* The JobSet ends well with this replicatedJob; one of its pods is enough: the first. */
void succeed_with(struct v1_job *j, const char *rjob);
void succeed_with_index(struct v1_job *j, const char *rule, cJSON *take_value);

/* How gangs are placed: what V1's schedulingPolicy says, as one of ours. */
enum gang { GANG_NONE, GANG_VOLCANO, GANG_COSCHEDULING };
enum gang gang_of(const struct v1_job *j);
const cJSON *clean_pod_policy(const struct v1_job *j); /* the one that counts, or NULL */

/* ---- env.c, kinds: variables that V1 set ---- */
void env_pytorch(struct v1_job *j, const struct role *role, cJSON *container);
void env_xgboost(struct v1_job *j, const struct role *role, cJSON *container);
void env_jax(struct v1_job *j, const struct role *role, cJSON *container);
void env_tensorflow(struct v1_job *j, const struct role *role, cJSON *container);
void env_paddle(struct v1_job *j, const struct role *role, cJSON *container);
void env_mpi(struct v1_job *j, const struct role *role, cJSON *container);
const char *mpi_of(const struct v1_job *j); /* mpiImplementation, "OpenMPI" if absent */
bool env_is_v1s(const struct v1_job *j,
		const char *name); /* V1 set it, over the user's */
bool env_is_policys(const struct v1_job *j, const char *name); /* V1 did not, V2 does */
int64_t numeric_procs(const struct v1_job *j); /* nprocPerNode as a number; 0: none */

/* ---- kinds.c ---- */
void build_pytorch(struct v1_job *j);
void build_xgboost(struct v1_job *j);
void build_jax(struct v1_job *j);
void build_tensorflow(struct v1_job *j);
void build_paddle(struct v1_job *j);
void build_mpi(struct v1_job *j);
/* The value of MPI_ANNOTATION, or NULL: upstream's ssh. */
const char *mpi_transport_of(const struct v1_job *j);

/* ---- fields.c ---- */
/* Grades every field of the input. */
void grade_fields(struct v1_job *j);

/* ---- shared.c ---- */
/* Is conf->shared a runtime for it? */
void check_shared(struct v1_job *j);
/* Turns what build_job() made into a TrainJob of conf->shared. */
void use_shared(struct v1_job *j);
/* Does a TrainJob of a shared runtime carry this field of the template? */
bool shared_carries(const struct v1_job *j, const struct role *role, const char *pattern);

#endif
