/*
 * yunikorn.c - labels and task groups for YuniKorn (trainer/plugin.h).
 *
 * Not in upstream. Follows yunikorn-k8shim 1.8 (pkg/common/constants,
 * pkg/cache/utils.go): an application is a TrainJob; its task groups are reserved
 * together, by placeholder pods that must fit wherever the pods do.
 */
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "plugins/plugins.h"
#include "trainer/podspec.h"

#define SCHEDULER  "yunikorn"
#define PREFIX     "yunikorn.apache.org/"
#define APP_ID     PREFIX "app-id"
#define GROUP_NAME PREFIX "task-group-name"
#define GROUPS     PREFIX "task-groups"

/* The API server's limit of an object's annotations. */
enum { ANNOTATIONS_MAX = 256 * 1024 };

static const char *const queue_labels[] = { PREFIX "queue", "queue" };

static bool is_yunikorns(const struct pod_set *ps)
{
	return str_eq(pod_spec_scheduler(ps->pod_spec), SCHEDULER);
}

static bool has_groups(const struct pod_set *ps)
{
	return meta_annotation(ps->pod_template, GROUP_NAME) ||
	       meta_annotation(ps->pod_template, GROUPS);
}

static bool in_a_group(const struct info *info, const struct pod_set *ps)
{
	return pod_set_trains(info, ps) && is_yunikorns(ps) && pod_set_count(ps) > 0;
}

static int add_group(cJSON *groups, const struct pod_set *ps, struct error *err)
{
	cleanup_resource_list struct resource_list one = { 0 };
	cJSON *group;

	if (pod_requests_add(&one, ps->pod_spec, 1, err))
		return error_wrap(err, "job %s", ps->name);
	group = cJSON_CreateObject();
	json_put_str(group, ps->name, "name");
	json_put_int(group, pod_set_count(ps) * pod_set_replicas(ps), "minMember");
	json_put(group, resource_list_json(&one), "minResource");
	pod_spec_copy_placement(group, ps->pod_spec);
	cJSON_AddItemToArray(groups, group);
	return 0;
}

static void add_labels(const struct pod_set *ps, const cJSON *tj)
{
	if (meta_uid(tj) && !meta_label(ps->pod_template, APP_ID))
		pod_template_label(ps->pod_template, APP_ID, meta_uid(tj));
	for (size_t i = 0; i < N_ELEMENTS(queue_labels); i++)
		if (meta_label(tj, queue_labels[i]))
			pod_template_label(ps->pod_template, queue_labels[i],
					   meta_label(tj, queue_labels[i]));
}

/* This is the last phase: the pods' requests are complete. */
static int pre_build_sync(const struct plugin_env *env, struct info *info,
			  const cJSON *tj, struct error *err)
{
	cleanup_json cJSON *groups = cJSON_CreateArray();
	cleanup_free char *text = NULL;
	bool theirs = false;

	for (size_t i = 0; i < info->n_pod_sets; i++) {
		const struct pod_set *ps = &info->pod_sets[i];

		if (is_yunikorns(ps))
			add_labels(ps, tj);
		theirs |= has_groups(ps);
		if (in_a_group(info, ps) && add_group(groups, ps, err))
			return -1;
	}
	text = json_text(groups);
	if (!theirs && strlen(text) > ANNOTATIONS_MAX)
		return error_set(
			err, ERR_LIMIT,
			"YuniKorn's task groups: an annotation of %zu bytes, and "
			"pods may have %d: give the jobs fewer or shorter "
			"selectors, tolerations and affinities",
			strlen(text), ANNOTATIONS_MAX);
	for (size_t i = 0; !theirs && i < info->n_pod_sets; i++) {
		const struct pod_set *ps = &info->pod_sets[i];

		if (!in_a_group(info, ps))
			continue;
		pod_template_annotate(ps->pod_template, GROUP_NAME, ps->name);
		pod_template_annotate(ps->pod_template, GROUPS, text);
	}
	return 0;
}

const struct plugin plugin_yunikorn = {
	.name = "YuniKorn",
	.edit[PRE_BUILD_SYNC] = pre_build_sync,
};
