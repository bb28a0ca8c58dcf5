/*
 * trainjobstatus.c - let training processes report progress (trainer/plugin.h).
 *
 * Follows upstream's plugins/trainjobstatus (feature gate TrainJobStatus): every
 * container of the trainer gets the status server's address, its CA and a token that is
 * valid for this TrainJob only. Not in upstream: initializers that run our command get
 * them, too, to report the download's progress.
 */
#include "api/meta.h"
#include "base/str.h"
#include "plugins/common.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/podspec.h"

#define MOUNT_PATH "/var/run/secrets/kubeflow/trainer"
#define CA_KEY     "ca.crt"

enum { TOKEN_SECONDS = 3600 };

/* The endpoint's path from the API group on, which is also the token's audience. */
static const char *endpoint(struct info *info)
{
	return arena_printf(&info->arena,
			    TRAINER_API_VERSION "/namespaces/%s/trainjobs/%s/status",
			    info->ns ? info->ns : "default", info->name);
}

static cJSON *token_volume(struct info *info)
{
	cJSON *volume = podspec_volume(STATUS_TOKEN_VOLUME);
	cJSON *sources = json_list(volume, "projected", "sources");
	cJSON *token = cJSON_CreateObject(), *ca = cJSON_CreateObject();

	json_put_str(token, endpoint(info), "serviceAccountToken", "audience");
	json_put_int(token, TOKEN_SECONDS, "serviceAccountToken", "expirationSeconds");
	json_put_str(token, "token", "serviceAccountToken", "path");
	json_put_str(ca, plugin_object_name(info, "-tls-config"), "configMap", "name");
	cJSON_AddItemToArray(json_list(ca, "configMap", "items"),
			     podspec_volume_item(CA_KEY, CA_KEY, -1));
	cJSON_AddItemToArray(sources, token);
	cJSON_AddItemToArray(sources, ca);
	return volume;
}

static void inject(const struct plugin_env *env, struct info *info, cJSON *c)
{
	container_set_env(c, "KUBEFLOW_TRAINER_SERVER_URL",
			  arena_printf(&info->arena, "%s/apis/%s", env->status_server_url,
				       endpoint(info)));
	container_set_env(c, "KUBEFLOW_TRAINER_SERVER_CA_CERT", MOUNT_PATH "/" CA_KEY);
	container_set_env(c, "KUBEFLOW_TRAINER_SERVER_TOKEN", MOUNT_PATH "/token");
	container_mount(c, STATUS_TOKEN_VOLUME, MOUNT_PATH, true);
}

static bool is_any(const cJSON *c)
{
	return true;
}

/* Upstream's initializer images do not report progress; our command does. */
static bool runs_our_command(const cJSON *c)
{
	const cJSON *arg;

	json_each(arg, json_get(c, "args"))
		if (str_eq(arg->valuestring, "initialize-dataset") ||
		    str_eq(arg->valuestring, "initialize-model"))
			return true;
	return false;
}

static const struct {
	const char *ancestor;
	bool (*applies)(const cJSON *c);
} receivers[] = {
	{ ANCESTOR_TRAINER, is_any },
	{ DATASET_INITIALIZER, runs_our_command },
	{ MODEL_INITIALIZER, runs_our_command },
};

static int enforce_pod_spec(const struct plugin_env *env, struct info *info,
			    const cJSON *tj, struct error *err)
{
	if (!env->status_server)
		return 0;
	for (size_t i = 0; i < N_ELEMENTS(receivers); i++) {
		struct pod_set *set = info_by_ancestor(info, receivers[i].ancestor);
		bool injected = i == 0;
		cJSON *c;

		if (!set)
			continue;
		if (!env->status_server_url)
			return error_set(err, ERR_INVALID,
					 "the status server has no address");
		json_each(c, pod_containers(set->pod_spec)) {
			if (!receivers[i].applies(c))
				continue;
			inject(env, info, c);
			injected = true;
		}
		if (injected)
			pod_set_volume(set->pod_spec, token_volume(info));
	}
	return 0;
}

static int build(const struct plugin_env *env, struct info *info, const cJSON *tj,
		 cJSON *objects, struct error *err)
{
	cJSON *map;

	if (!env->status_server)
		return 0;
	if (!env->status_server_ca || !*env->status_server_ca)
		return error_set(err, ERR_NOT_FOUND,
				 "the status server's CA certificate does not exist yet");
	map = plugin_add_object(objects, tj, "v1", "ConfigMap", "-tls-config");
	json_put_str(map, env->status_server_ca, "data", CA_KEY);
	return 0;
}

const struct plugin plugin_trainjobstatus = {
	.name = "TrainJobStatus",
	.edit[ENFORCE_POD_SPEC] = enforce_pod_spec,
	.build = build,
};
