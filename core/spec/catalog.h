/*
 * catalog.h - find the runtimes that a TrainJob may refer to: first in files, then in an
 * API (if given), then the built-in ClusterTrainingRuntimes.
 */
#ifndef SPEC_CATALOG_H
#define SPEC_CATALOG_H

#include "spec/input.h"

struct runtime_name {
	const char *kind, *ns, *name; /* ns: the job's, for both kinds */
};

/*
 * The runtime that the TrainJob's runtimeRef names, with defaults; owned by the caller.
 * NULL, and an error in errs, if there is none. `ns` is the job's; a TrainingRuntime of a
 * file without a namespace is assumed to be in it.
 */
cJSON *runtime_resolve(const struct input *in, const struct schema *schema,
		       const cJSON *trainjob, const char *ns, struct field_errors *errs);

/*
 * The runtime of this kind and name in the files or, with_builtin, among the built-in
 * ones, as it was written; owned by the caller. NULL: there is none.
 */
cJSON *runtime_find(const struct input *in, const struct runtime_name *which,
		    bool with_builtin);
/*
 * Does a runtime of this kind and name exist in the files or, with_builtin, among the
 * built-in ones?
 */
bool runtime_exists(const struct input *in, const struct runtime_name *which,
		    bool with_builtin);

/* The runtime of the TrainJob among the files only; NULL: not found. */
const struct doc *runtime_in_files(const struct input *in, const cJSON *trainjob,
				   const char *ns);

/*
 * All runtimes that have a name, sorted by name: those of the files, those of an API (an
 * array, or NULL) that no file has, and the built-in ones that neither has. *ret: an
 * array owned by the caller.
 */
MUST_CHECK int runtime_all(cJSON **ret, const struct input *in, const cJSON *api,
			   const struct schema *schema, struct error *err);

/*
 * One of them by NAME or KIND/NAME (refer_runtime()): files first, then the API, then
 * built-in ones; without server-set fields, so that it can be applied. *ret: owned by the
 * caller. ERR_NOT_FOUND suggests the nearest name.
 */
MUST_CHECK int runtime_by_name(cJSON **ret, const struct input *in, const cJSON *api,
			       const struct schema *schema, const char *name,
			       struct error *err);

#endif
