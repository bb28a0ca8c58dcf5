/* from.c - read a run directory in place of a cluster (cmd/ui/from.h). */
#include "cmd/ui/from.h"

#include "base/stop.h"
#include "cmd/ui/env.h"

int from_open(struct story **ret, const struct from *from, struct where_opts *where,
	      int *names_n, char ***names, struct error *err)
{
	const struct story_conf conf = { .uri = from->uri,
					 .env = env_variable,
					 .logs = from->logs };

	*ret = NULL;
	if (!from->uri)
		return 0;
	if (where->local || where->ns || where->cluster.kubeconfig ||
	    where->cluster.context)
		return error_set(err, ERR_USAGE,
				 "--from cannot be combined with --namespace, --local, "
				 "--kubeconfig or --context");
	if (from->follow)
		return error_set(err, ERR_USAGE,
				 "--from shows what a run directory has: it cannot be "
				 "followed or watched");
	if (stop_setup(err) || story_open(ret, &conf, err))
		return error_wrap(err, "--from");
	where->local = true;
	where->ns = story_namespace(*ret);
	where->from = story_option(*ret);
	if (!*names_n) {
		*names = story_names(*ret);
		*names_n = 1;
	}
	return 0;
}
