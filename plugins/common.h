/* common.h - functions that several plugins share. */
#ifndef PLUGINS_COMMON_H
#define PLUGINS_COMMON_H

#include "trainer/plugin.h"

/*
 * Append a new object to `objects`: named "<TrainJob><suffix>" and owned by the TrainJob.
 */
cJSON *plugin_add_object(cJSON *objects, const cJSON *tj, const char *api_version,
			 const char *kind, const char *suffix);

/* The name that plugin_add_object() gives for that suffix, in the arena. */
const char *plugin_object_name(struct info *info, const char *suffix);

/*
 * *ret: the existing object, owned by env, or NULL if it is absent or the pipeline runs
 * without a cluster.
 */
MUST_CHECK int plugin_object_find(const struct plugin_env *env,
				  const struct object_ref *ref, const cJSON **ret,
				  struct error *err);

/*
 * Add one error at spec.trainer.env that names, in order, the reserved variables that the
 * job sets. `reserved` is sorted and ends with NULL.
 */
void plugin_refuse_reserved_env(const cJSON *tj, const char *const *reserved,
				const char *whose, struct field_errors *errs);

/*
 * Does the runtime's label LABEL_FRAMEWORK name the framework, and its mlPolicy no other?
 */
bool plugin_is_framework(const struct info *info, const char *framework);

/* Set data[key] of a Secret, in base64. */
void plugin_secret_data(cJSON *secret, const char *key, const char *text);

#endif
