/*
 * convert.h - jobs of Training Operator V1 and MPI Operator, as TrainJobs.
 *
 * A job becomes a TrainingRuntime of its name, which has its pod templates, and a
 * small TrainJob; or a TrainJob of a runtime that exists. Pure: documents in,
 * documents out. Every field that the input has is graded by a table (fields.c): it
 * goes on as it was, does nearly the same, is lost, or the job is refused.
 *
 * Follows kubeflow/training-operator v1.9 pkg/controller.v1 and pkg/webhooks, and
 * kubeflow/mpi-operator v0.8 pkg/controller.
 */
#ifndef CONVERT_CONVERT_H
#define CONVERT_CONVERT_H

#include "api/field.h"
#include "api/schema.h"
#include "base/arena.h"

enum convert_what {
	CONVERT_OTHER,   /* not ours: passes as it is */
	CONVERT_JOB,     /* one of the kinds below */
	CONVERT_UNKNOWN, /* nearly one: another version, or a name close to one */
};

/* From worse to better is higher: the worst of all counts. */
enum grade { GRADE_EXACT, GRADE_APPROXIMATE, GRADE_LOST, N_GRADES };
extern const char *const grade_name[N_GRADES]; /* "exact", "approximate", "lost" */

/* What becomes of one field. Exact ones have a note only where they are left out. */
struct convert_note {
	enum grade grade;
	const char *path, *value, *says; /* the result's */
};

struct convert_conf {
	const struct schema *v1, *v2beta1; /* core/assets/v1.yaml, v2beta1.yaml */
	const cJSON *shared; /* the runtime to use; NULL: one for each job */
	bool upstream;       /* only what upstream's Trainer has */
};

struct convert_result {
	struct arena arena;
	cJSON *runtime, *job; /* NULL when refused; runtime also with a shared one */
	struct convert_note *notes;
	size_t n, cap;
	enum grade grade;
	struct field_errors errs; /* why it is refused; else empty */
};

/* Adds to errs what is wrong with one that is CONVERT_UNKNOWN. */
enum convert_what convert_what(const cJSON *obj, struct field_errors *errs);

/* `obj` is a CONVERT_JOB. The result is the caller's, released in every case. */
void convert_job(struct convert_result *ret, const struct convert_conf *conf,
		 const cJSON *obj);
void convert_result_release(struct convert_result *r);
#define cleanup_convert_result __attribute__((cleanup(convert_result_release)))

#endif
