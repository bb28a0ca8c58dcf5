/* runtimes.c - list the runtimes of a cluster (client/runtimes.h). */
#include "client/runtimes.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "trainer/api.h"

struct kube_ref runtime_ref_at(const char *kind, const char *ns, const char *name)
{
	bool cluster = str_eq(kind, CLUSTER_RUNTIME_KIND);

	return (struct kube_ref){ TRAINER_API_VERSION, kind, cluster ? NULL : ns, name };
}

static int add_item(void *list, cJSON *take_obj, struct error *err)
{
	cJSON_AddItemToArray(list, take_obj);
	return 0;
}

static void drop_items(void *list)
{
	cJSON_Delete(((cJSON *)list)->child);
	((cJSON *)list)->child = NULL;
}

int runtime_list(struct kube *k, const char *kind, const char *ns, bool meta_only,
		 cJSON *list, struct error *err)
{
	const struct kube_ref all = runtime_ref_at(kind, ns, NULL);
	const struct kube_select select = { .meta_only = meta_only };
	cleanup_json cJSON *found = cJSON_CreateArray();
	const struct kube_sink sink = { .on_item = add_item,
					.on_restart = drop_items,
					.ctx = found };

	if (kube_list(k, &all, &select, &sink, NULL, err))
		return -1;
	while (found->child)
		cJSON_AddItemToArray(list,
				     cJSON_DetachItemViaPointer(found, found->child));
	return 0;
}
