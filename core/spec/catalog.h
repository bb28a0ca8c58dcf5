/*
 * catalog.h - the runtimes that a TrainJob may refer to: those of files, then those of an
 * API, if one is asked, then the built-in ClusterTrainingRuntimes.
 */
#ifndef SPEC_CATALOG_H
#define SPEC_CATALOG_H

#include "spec/input.h"

struct runtime_name {
	const char *kind, *ns, *name; /* ns: where the job is, for either kind */
};

/*
 * The one that the TrainJob's runtimeRef names; the caller's, defaults filled
 * in. NULL, and an error in errs, when there is none. `ns` is the job's; a
 * TrainingRuntime of a file that has no namespace counts as being there.
 */
cJSON *runtime_resolve(const struct input *in, const struct schema *schema,
		       const cJSON *trainjob, const char *ns, struct field_errors *errs);

/*
 * Is there one of this kind and name that needs no cluster? Of the files; a
 * ClusterTrainingRuntime also where it is built in, if those count.
 */
bool runtime_exists(const struct input *in, const struct runtime_name *which,
		    bool with_builtin);

/* Only of the files; NULL: none of them has it. */
const struct doc *runtime_in_files(const struct input *in, const cJSON *trainjob,
				   const char *ns);

/*
 * All that have a name, by name: those of the files, of an API (an array, or NULL; what a
 * file has, too, is left out), and the built-in ones that neither has.
 */
MUST_CHECK int runtime_all(cJSON **ret, const struct input *in, const cJSON *api,
			   const struct schema *schema, struct error *err);

/*
 * One of them, of any kind or KIND/NAME (refer_runtime()): the first in that order, as it
 * can be applied again. ERR_NOT_FOUND has the nearest name.
 */
MUST_CHECK int runtime_by_name(cJSON **ret, const struct input *in, const cJSON *api,
			       const struct schema *schema, const char *name,
			       struct error *err);

#endif
