/* common.c - objects, keys and refusals for several plugins (plugins/common.h). */
#include "plugins/common.h"

#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/podspec.h"
#include "trainer/trainjob.h"

cJSON *plugin_add_object(cJSON *objects, const cJSON *tj, const char *api_version,
			 const char *kind, const char *suffix)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *obj = meta_new(api_version, kind, meta_namespace(tj),
			      arena_printf(&arena, "%s%s", meta_name(tj), suffix));

	meta_set_owner(obj, tj);
	cJSON_AddItemToArray(objects, obj);
	return obj;
}

const char *plugin_object_name(struct info *info, const char *suffix)
{
	return arena_printf(&info->arena, "%s%s", info->name, suffix);
}

int plugin_object_find(const struct plugin_env *env, const struct object_ref *ref,
		       const cJSON **ret, struct error *err)
{
	*ret = NULL;
	if (!env->get)
		return 0;
	return env->get(env->ctx, ref, ret, err);
}

void plugin_refuse_reserved_env(const cJSON *tj, const char *const *reserved,
				const char *whose, struct field_errors *errs)
{
	cleanup_buf struct buf names = { .max = 4096 };
	const cJSON *env = tj_env(tj);

	for (; *reserved; reserved++)
		if (json_find_const(env, "name", *reserved))
			buf_printf(&names, "%s%s", names.len ? ", " : "", *reserved);
	if (names.len)
		field_error_add(errs, FIELD_INVALID, "spec.trainer.env", env,
				"set by the %s policy, not by a TrainJob: %s", whose,
				(const char *)names.data);
}

void plugin_secret_data(cJSON *secret, const char *key, const char *text)
{
	cleanup_buf struct buf encoded = { .max = 1024 * 1024 };

	base64_encode(&encoded, text, strlen(text));
	json_put_str(secret, encoded.data ? (const char *)encoded.data : "", "data", key);
}

bool plugin_is_framework(const struct info *info, const char *framework)
{
	const cJSON *member;

	json_each(member, info->ml_policy)
		if (cJSON_IsObject(member)) /* numNodes is a number */
			return false;
	return str_eq(meta_label(info->runtime, LABEL_FRAMEWORK), framework);
}
