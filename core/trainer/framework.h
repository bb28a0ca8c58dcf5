/*
 * framework.h - run the plugins, phase by phase.
 *
 * The list is a parameter: the program gives plugins[], a test its own.
 */
#ifndef TRAINER_FRAMEWORK_H
#define TRAINER_FRAMEWORK_H

#include "trainer/plugin.h"

/* Run one edit phase; stops at the first plugin that fails. */
MUST_CHECK int framework_edit(const struct plugin *const *list,
			      const struct plugin_env *env, enum edit_phase phase,
			      struct info *info, const cJSON *tj, struct error *err);

/* Run all phases from Info to objects; stops at the first plugin that fails. */
MUST_CHECK int framework_build(const struct plugin *const *list,
			       const struct plugin_env *env, struct info *info,
			       const cJSON *tj, cJSON *objects, struct error *err);

void framework_validate(const struct plugin *const *list, const struct plugin_env *env,
			struct info *info, const cJSON *old, const cJSON *now,
			struct field_errors *errs);

/* The policy of an mlPolicy that `submit --local` refuses (cluster_only); NULL: none. */
const char *framework_cluster_only(const struct plugin *const *list,
				   const cJSON *ml_policy);

/* The plugin with `status`, or NULL; a list has at most one. */
const struct plugin *framework_status_plugin(const struct plugin *const *list);

#endif
