/* common.h - what several plugins do in the same way. */
#ifndef PLUGINS_COMMON_H
#define PLUGINS_COMMON_H

#include "trainer/plugin.h"

/*
 * A new object of the TrainJob, named after it with the suffix, owned by it.
 * Goes into `objects`.
 */
cJSON *add_object(cJSON *objects, const cJSON *tj, const char *api_version,
		  const char *kind, const char *suffix);

/* Its name: "<TrainJob><suffix>", in the arena. */
const char *object_name(struct info *info, const char *suffix);

/*
 * *ret: the existing object, or NULL when it is absent or when the caller has no cluster
 * (a client).
 */
MUST_CHECK int look_up(const struct plugin_env *env, const struct object_ref *ref,
		       const cJSON **ret, struct error *err);

/*
 * One error at spec.trainer.env, naming in order the reserved variables that
 * the job sets; `reserved` is sorted and ends with NULL.
 */
void refuse_reserved_env(const cJSON *tj, const char *const *reserved, const char *whose,
			 struct field_errors *errs);

/* Does the runtime's label say so, and its mlPolicy name no other framework? */
bool is_framework(const struct info *info, const char *framework);

/* data[key], base64 as in a Secret. */
void secret_data(cJSON *secret, const char *key, const char *text);

#endif
