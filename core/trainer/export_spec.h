/*
 * export_spec.h - the annotations of a TrainJob whose model is uploaded and registered.
 *
 * On the TrainJob, else on the runtime's template: when all ranks have succeeded, the
 * supervisor of rank 0 runs `kftrainer export-model` on what the script has left in
 * EXPORT_MODEL_ENV (plugins/supervise.c, supervise/run.h).
 */
#ifndef TRAINER_EXPORT_SPEC_H
#define TRAINER_EXPORT_SPEC_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

#define EXPORT_ANNOTATION               "kftrainer.io/export-to" /* a URI, without credentials */
#define EXPORT_SECRET_ANNOTATION        "kftrainer.io/export-secret" /* a Secret of variables */
#define REGISTER_ANNOTATION             "kftrainer.io/register" /* URI of a registry */
#define REGISTER_MODEL_ANNOTATION       "kftrainer.io/register-model"
#define REGISTER_VERSION_ANNOTATION     "kftrainer.io/register-version"
#define REGISTER_DESCRIPTION_ANNOTATION "kftrainer.io/register-description"
#define REGISTER_PROPERTIES_ANNOTATION \
	"kftrainer.io/register-properties" /* lines NAME=VALUE */
#define COMMIT_ANNOTATION \
	"kftrainer.io/commit" /* of the submitted work tree; with "-dirty" if it differs */

#define EXPORT_MODEL_ENV    "KFTRAINER_MODEL_DIR"
#define EXPORT_MODEL_VOLUME "kftrainer-model"
#define EXPORT_MODEL_PATH   "/kftrainer/model"

struct export_spec {
	const char *uri;    /* NULL: nothing is exported */
	const char *secret; /* or NULL */
	/*
	 * Options of export-model that register the model, "--NAME=VALUE",
	 * with the job's origin; ends with NULL. A pod expands nothing of them.
	 */
	const char **args;
};

/*
 * In the arena, or the documents'. ERR_INVALID: the
 * message has nothing of a URI.
 */
MUST_CHECK int export_spec_of(struct export_spec *ret, struct arena *arena,
			      const cJSON *tj, const cJSON *template_annotations,
			      struct error *err);

#endif
