#include "cmd/cluster.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/stop.h"

int cluster_connect(struct kube **ret, const struct cluster_opts *opts, struct error *err)
{
	const struct kube_config_flags flags = { .kubeconfig = opts->kubeconfig,
						 .context = opts->context };
	const struct kube_opts how = { .user_agent = "kftrainer/" VERSION };
	cleanup_kube_config struct kube_config config = { 0 };

	if (stop_setup(err) || kube_config_load(&config, &flags, err))
		return -1;
	return kube_new(ret, &config, &how, err);
}

const char *object_title(struct arena *arena, const cJSON *obj)
{
	const char *ns = meta_namespace(obj);

	return arena_printf(arena, "%s %s%s%s", meta_kind(obj), ns ? ns : "",
			    ns ? "/" : "", meta_name(obj));
}
