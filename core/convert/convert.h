/*
 * convert.h - convert jobs of Training Operator V1 and MPI Operator to TrainJobs.
 *
 * A job becomes a TrainingRuntime of its name with its pod templates, and a small
 * TrainJob; or a TrainJob of an existing runtime. Pure: documents in, documents out. A
 * table (fields.c) grades every field of the input: its effect is the same, nearly the
 * same, or lost, or the job is refused.
 *
 * Follows kubeflow/training-operator v1.9 pkg/controller.v1 and pkg/webhooks,
 * kubeflow/mpi-operator v0.8 pkg/controller, and for TrainJobs of Kubeflow Trainer 2.0 and
 * 2.1 its v2.1.0 pkg/apis/trainer/v1alpha1 and pkg/runtime/core.
 */
#ifndef CONVERT_CONVERT_H
#define CONVERT_CONVERT_H

#include "api/field.h"
#include "api/schema.h"
#include "base/arena.h"
#include "base/map.h"

enum convert_what {
	CONVERT_OTHER,   /* another kind: passed on unchanged */
	CONVERT_JOB,     /* one of the kinds below */
	CONVERT_UNKNOWN, /* nearly one: another version, or a similar name */
};

/* Higher is worse; a job has its worst field's grade. */
enum grade { GRADE_EXACT, GRADE_APPROXIMATE, GRADE_LOST, N_GRADES };
extern const char *const grade_name[N_GRADES]; /* "exact", "approximate", "lost" */

/* The grade of a field. An exact field is only listed if it was dropped. */
struct convert_note {
	enum grade grade;
	const char *path, *value, *text; /* in the result's arena */
};

struct convert_conf {
	const struct schema *v1, *v2beta1; /* core/assets/v1.yaml, v2beta1.yaml */
	const cJSON *shared; /* the runtime to use; NULL: one for each job */
	bool upstream;       /* only what upstream's Trainer has */
};

struct convert_result {
	struct arena arena;
	cJSON *runtime, *job; /* NULL if refused; no runtime with a shared one */
	struct convert_note *notes;
	size_t n, cap;
	enum grade grade;
	struct field_errors errs; /* why the job is refused; else empty */
};

/* Classify an object; adds an error for CONVERT_UNKNOWN. */
enum convert_what convert_what(const cJSON *obj, struct field_errors *errs);

/* Does the schema accept this CONVERT_JOB? */
bool convert_is_valid(const struct convert_conf *conf, const cJSON *obj);

/* Convert a CONVERT_JOB. Release the result in every case. */
void convert_job(struct convert_result *ret, const struct convert_conf *conf,
		 const cJSON *obj);
/*
 * Convert a TrainJob or a runtime of Kubeflow Trainer 2.0 and 2.1, in place: overrides,
 * labels and annotations of spec become runtimePatches; words in numProcPerNode, and a
 * runtime's number, are dropped. Other documents are not changed. Adds to ret's notes and
 * errors.
 */
void convert_trainer(struct convert_result *ret, cJSON *obj);
/*
 * Add to `ret` each field of another document, which is passed on unchanged, that names
 * pods, objects or labels of the jobs (a map of names to valid objects) in its namespace,
 * or that has a job in it.
 */
void convert_mentions(struct convert_result *ret, const struct convert_conf *conf,
		      const struct map *jobs, const cJSON *other);
void convert_result_release(struct convert_result *r);
#define cleanup_convert_result __attribute__((cleanup(convert_result_release)))

#endif
