/*
 * framework.h - run the plugins, phase by phase.
 *
 * The list is a parameter: the program gives plugins[], a test its own.
 */
#ifndef TRAINER_FRAMEWORK_H
#define TRAINER_FRAMEWORK_H

#include "trainer/plugin.h"

/* One phase of edits alone; stops at the first plugin that fails. */
MUST_CHECK int framework_edit(const struct plugin *const *list,
			      const struct plugin_env *env, enum edit_phase phase,
			      struct info *info, const cJSON *tj, struct error *err);

/* Everything from Info to objects; stops at the first plugin that fails. */
MUST_CHECK int framework_build(const struct plugin *const *list,
			       const struct plugin_env *env, struct info *info,
			       const cJSON *tj, cJSON *objects, struct error *err);

void framework_validate(const struct plugin *const *list, const struct plugin_env *env,
			struct info *info, const cJSON *old, const cJSON *now,
			struct field_errors *errs);

/* The policy that needs a launcher which only a cluster has; NULL: none. */
const char *framework_cluster_only(const struct plugin *const *list,
				   const cJSON *ml_policy);

/* The plugin that reads the status, of which a list has one: or NULL. */
const struct plugin *framework_status_plugin(const struct plugin *const *list);

#endif
