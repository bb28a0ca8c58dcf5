/*
 * kai.c - labels and annotations for the KAI scheduler (trainer/plugin.h).
 *
 * Not in upstream's code, but in its guide. KAI's pod grouper builds the PodGroup from
 * the JobSet and its pods, and ignores the TrainJob: so the TrainJob's labels and
 * annotations for KAI are copied to them.
 */
#include "api/meta.h"
#include "base/str.h"
#include "plugins/plugins.h"
#include "trainer/podspec.h"

#define SCHEDULER "kai-scheduler"
#define PREFIX    "kai.scheduler/"
#define PRIORITY  "priorityClassName" /* a label */

static cJSON *for_kai(const cJSON *map)
{
	cJSON *ret = cJSON_CreateObject();
	const cJSON *entry;

	json_each(entry, map)
		if (cJSON_IsString(entry) && (str_starts(entry->string, PREFIX) ||
					      str_eq(entry->string, PRIORITY)))
			json_put_str(ret, entry->valuestring, entry->string);
	return ret;
}

static int enforce_pod_group_policy(const struct plugin_env *env, struct info *info,
				    const cJSON *tj, struct error *err)
{
	cleanup_json cJSON *labels = for_kai(meta_labels(tj));
	cleanup_json cJSON *annotations = for_kai(meta_annotations(tj));
	const cJSON *entry;
	bool used = false;

	for (size_t i = 0; i < info->n_pod_sets; i++) {
		const struct pod_set *ps = &info->pod_sets[i];

		if (!str_eq(pod_spec_scheduler(ps->pod_spec), SCHEDULER))
			continue;
		used = true;
		json_each(entry, labels)
			meta_set_label(ps->pod_template, entry->string,
				       entry->valuestring);
		json_each(entry, annotations)
			meta_set_annotation(ps->pod_template, entry->string,
					    entry->valuestring);
	}
	if (used) {
		meta_overlay(info->labels, labels);
		meta_overlay(info->annotations, annotations);
	}
	return 0;
}

const struct plugin plugin_kai = {
	.name = "KAI",
	.edit[ENFORCE_POD_GROUP_POLICY] = enforce_pod_group_policy,
};
