/* from.c - read run directories in place of a cluster (cmd/ui/from.h). */
#include "cmd/ui/from.h"

#include "base/stop.h"
#include "cmd/ui/env.h"

static int check(const struct from *from, const struct where_opts *where,
		 struct error *err)
{
	if (where->local || where->ns || where->cluster.kubeconfig ||
	    where->cluster.context)
		return error_set(err, ERR_USAGE,
				 "--from cannot be combined with --namespace, --local, "
				 "--kubeconfig or --context");
	if (from->pick)
		return error_set(err, ERR_USAGE, "--from cannot be combined with %s",
				 from->pick);
	if (from->follow)
		return error_set(err, ERR_USAGE,
				 "--from shows what a run directory has: it cannot be "
				 "followed or watched");
	return stop_setup(err);
}

int from_open(struct history **ret, const struct from *from, struct where_opts *where,
	      int *names_n, char ***names, struct error *err)
{
	const struct history_conf conf = { .uri = from->uri,
					   .env = env_variable,
					   .name = *names_n == 1 ? **names : NULL,
					   .all = from->all || *names_n > 1,
					   .on_fault = from->on_fault };

	*ret = NULL;
	if (!from->uri)
		return 0;
	if (check(from, where, err))
		return -1;
	if (history_open(ret, &conf, err))
		return error_wrap(err, "--from");
	where->local = true;
	where->ns = history_namespace(*ret, *names_n ? **names : NULL);
	where->from = history_option(*ret);
	if (!*names_n && !from->all) {
		*names = history_names(*ret);
		*names_n = 1;
	}
	if (!from->logs || *names_n != 1 || !history_logs(*ret, **names, err))
		return 0;
	error_wrap(err, "--from");
	return err->kind == ERR_FORMAT ? 1 : -1;
}
