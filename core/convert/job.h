/* job.h - state of a V1 job's conversion. Private to core/convert. */
#ifndef CONVERT_JOB_H
#define CONVERT_JOB_H

#include "convert/convert.h"

enum { MAX_ROLES = 5, NO_LIMIT = 2147483647 };

/* A replica type of a job, and what its pods become. */
struct role {
	const char *name;  /* "Master" */
	const char *rjob;  /* the replicatedJob that they become */
	const char *path;  /* "spec.pytorchReplicaSpecs.Master" */
	const cJSON *spec; /* the ReplicaSpec */
	const cJSON *template;
	const char *container; /* the container that becomes "node", or NULL */
	const char *restart;   /* restart policy; the kind's default if unset */
	int64_t n;
	int64_t first; /* index of its first pod in the replicatedJob */
};

struct v1_job;
struct v1_kind {
	unsigned bit; /* its bit in the table of fields */
	const char *kind, *version;
	const char *roles_key;        /* "pytorchReplicaSpecs" */
	const char *container, *port; /* required in pods; the name of its port */
	const char *restart;          /* default restart policy of replicas */
	const char *framework;        /* LABEL_FRAMEWORK */
	const char *policy;           /* member of mlPolicy; NULL: a plain one */
	bool one_template;            /* all roles are ranks of one replicatedJob */
	struct {
		const char *name, *rjob;
	} roles[MAX_ROLES + 1];          /* ends with name NULL */
	void (*check)(struct v1_job *j); /* may refuse the job; or NULL */
	void (*env)(struct v1_job *j, const struct role *role, cJSON *container);
	void (*build)(struct v1_job *j); /* completes the runtime */
};
extern const struct v1_kind v1_kinds[]; /* ends with kind NULL */

enum v1_kind_bit {
	KIND_PYTORCH = 1 << 0,
	KIND_TENSORFLOW = 1 << 1,
	KIND_XGBOOST = 1 << 2,
	KIND_PADDLE = 1 << 3,
	KIND_JAX = 1 << 4,
	KIND_MPI = 1 << 5,
	KIND_MPI2 = 1 << 6,
	KIND_ALL = (1 << 7) - 1,
};

struct v1_job {
	const struct convert_conf *conf;
	const struct v1_kind *kind;
	struct convert_result *ret;
	struct arena *arena; /* the result's */
	const cJSON *obj, *spec, *policy /* runPolicy */, *elastic;
	const char *name;
	struct role roles[MAX_ROLES];
	size_t n_roles; /* only roles with pods are in `roles` */
	int64_t pods;   /* of all roles */
	cJSON *runtime, *job;
};

const char *v1_kind_in_text(const char *text); /* of a job in YAML; NULL: there is none */

/* Initialize `j` for a job that the schema accepts; all pointers are borrowed. */
void v1_job_init(struct v1_job *j, const struct convert_conf *conf,
		 struct convert_result *ret, const cJSON *obj);
const struct role *v1_role(const struct v1_job *j, const char *name); /* NULL: no pods */
/* Refuse the job with an error of this field; value NULL: the field is missing. */
void v1_refuse(struct v1_job *j, const char *path, const cJSON *value, const char *fmt,
	       ...) PRINTF_LIKE(4, 5);
/* Add a note about a field to the result, which gets at least this grade. */
void v1_note(struct v1_job *j, enum grade grade, const char *path, const cJSON *value,
	     const char *text);

/* ---- check.c: refuse jobs that V1 refuses, or that no TrainJob can do ---- */
void v1_check_job(struct v1_job *j);
void v1_check_pytorch(struct v1_job *j);
void v1_check_xgboost(struct v1_job *j);
void v1_check_tensorflow(struct v1_job *j);
void v1_check_mpi(struct v1_job *j);

/* ---- roles.c ---- */
/* The role's pod template for the replicatedJob; owned by the caller. */
cJSON *v1_role_template(struct v1_job *j, const struct role *role);
/* One template for all roles, owned by the caller; differences are noted or refused. */
cJSON *v1_merged_template(struct v1_job *j);

/* ---- build.c ---- */
/* Build j->runtime and j->job, or refuse the job. */
void v1_build_job(struct v1_job *j);
/* The runtime's replicatedJob of that name, owned by the runtime, or NULL. */
cJSON *v1_find_rjob(struct v1_job *j, const char *name);
/* The host name that a pod of the TrainJob will have; in the arena. */
const char *v1_pod_host(const struct v1_job *j, const char *rjob, int64_t index);
/* The JobSet succeeds when this replicatedJob does. */
void v1_succeed_with(struct v1_job *j, const char *rjob);
/* The Job "node" succeeds by this rule: "succeededIndexes" or "succeededCount". */
void v1_succeed_with_index(struct v1_job *j, const char *rule, cJSON *take_value);

/* The gang scheduler that V1's schedulingPolicy implies. */
enum v1_gang { GANG_NONE, GANG_VOLCANO, GANG_COSCHEDULING };
enum v1_gang v1_gang_of(const struct v1_job *j);
const cJSON *v1_clean_pod_policy(const struct v1_job *j); /* the effective one, or NULL */

/* ---- env.c ---- */
/* Set the variables that V1 set, and that no policy sets, in a container of the role. */
void v1_env_pytorch(struct v1_job *j, const struct role *role, cJSON *container);
void v1_env_xgboost(struct v1_job *j, const struct role *role, cJSON *container);
void v1_env_jax(struct v1_job *j, const struct role *role, cJSON *container);
void v1_env_tensorflow(struct v1_job *j, const struct role *role, cJSON *container);
void v1_env_paddle(struct v1_job *j, const struct role *role, cJSON *container);
void v1_env_mpi(struct v1_job *j, const struct role *role, cJSON *container);
/* mpiImplementation; "OpenMPI" if absent. */
const char *v1_mpi_implementation(const struct v1_job *j);
/* The owner of a container's variable: all but the user override the user's value. */
enum v1_env_owner { ENV_USERS, ENV_V1S, ENV_POLICYS /* not V1, but V2's policy */ };
enum v1_env_owner v1_env_owner(const struct v1_job *j, const struct role *role,
			       const char *container, const char *name);
/* Drop the variables that are not the user's. The container still has V1's name. */
void v1_env_drop(const struct v1_job *j, const struct role *role, cJSON *container);
int64_t v1_numeric_procs(const struct v1_job *j); /* nprocPerNode as a number; 0: none */

/* ---- kinds.c ---- */
/* Complete the runtime with what is special for the kind. */
void v1_build_pytorch(struct v1_job *j);
void v1_build_xgboost(struct v1_job *j);
void v1_build_jax(struct v1_job *j);
void v1_build_tensorflow(struct v1_job *j);
void v1_build_paddle(struct v1_job *j);
void v1_build_mpi(struct v1_job *j);
/* The value of MPI_ANNOTATION; NULL: ssh, as upstream's. */
const char *v1_mpi_transport(const struct v1_job *j);

/* ---- fields.c ---- */
/* Grade every field of the input, once the runtime and the job are built. */
void v1_grade_fields(struct v1_job *j);

/* ---- shared.c ---- */
/* Refuse the job unless conf->shared is a runtime for it. */
void v1_check_shared(struct v1_job *j);
/* Turn v1_build_job()'s result into a TrainJob of conf->shared. */
void v1_use_shared(struct v1_job *j);
/* Can a TrainJob of a shared runtime set this field of the role's pod template? */
bool v1_shared_carries(const struct v1_job *j, const struct role *role,
		       const char *pattern);

#endif
