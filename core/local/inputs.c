/* inputs.c - collect the objects of a run (local/inputs.h). */
#include "local/inputs.h"

#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"

/* Add the ConfigMaps and Secrets whose names occur as strings in the JobSet. */
static void add_named(struct apiserver *api, cJSON *objects, const cJSON *jobset,
		      const char *text)
{
	static const char *const kinds[] = { "ConfigMap", "Secret" };

	for (size_t i = 0; i < 2; i++) {
		cleanup_json cJSON *list =
			apiserver_list(api, "v1", kinds[i], meta_namespace(jobset));
		const cJSON *obj;

		json_each(obj, list) {
			cleanup_arena struct arena a = { 0 };

			if (strstr(text, arena_printf(&a, "\"%s\"", meta_name(obj))))
				cJSON_AddItemToArray(objects, json_dup(obj));
		}
	}
}

/* Add the TrainJob's Services, which give its pods names. */
static void add_services(struct apiserver *api, cJSON *objects, const cJSON *trainjob)
{
	cleanup_json cJSON *list =
		apiserver_list(api, "v1", "Service", meta_namespace(trainjob));
	const cJSON *obj;

	json_each(obj, list)
		if (meta_is_controlled(obj, trainjob))
			cJSON_AddItemToArray(objects, json_dup(obj));
}

cJSON *inputs_of(struct apiserver *api, const cJSON *jobset, const cJSON *trainjob)
{
	cleanup_free char *text = json_text(jobset);
	cJSON *ret = cJSON_CreateArray(), *copy = json_dup(jobset);

	meta_drop_managed_fields(copy);
	json_del(copy, JSON_PATH("status"));
	cJSON_AddItemToArray(ret, copy);
	add_named(api, ret, jobset, text);
	add_services(api, ret, trainjob);
	return ret;
}
