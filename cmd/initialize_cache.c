/* initialize_cache.c - initialize-dataset of cache:// (cmd/initialize_cache.h). */
#include "cmd/initialize_cache.h"

#include "base/cleanup.h"
#include "client/cache_start.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "cmd/ui/env.h"

static void say(void *ctx, const char *line)
{
	cmd_complain("initialize-dataset", "%s", line);
}

int initialize_cache(const char *uri, struct error *err)
{
	const struct where_opts here = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *kube = NULL;
	struct cache_wish wish;
	struct cache_start conf = { .wish = &wish, .say = say };

	if (cache_wish_read(&wish, &arena, uri, env_variable, NULL, err) ||
	    where_connect(&kube, &conf.ns, &arena, &here, err))
		return -1;
	if (kube_is_inside(kube))
		return error_set(err, ERR_UNSUPPORTED,
				 "%s needs a cluster with LeaderWorkerSet", uri);
	conf.kube = kube;
	return cache_start(&conf, err) ? -1 : EXIT_OK;
}
