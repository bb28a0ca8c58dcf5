/* cluster.c - connect to the options' cluster, or to this machine (cmd/ui/cluster.h). */
#include "cmd/ui/cluster.h"

#include "api/names.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "local/state.h"
#include "machine/machine.h"

static const struct kube_opts how = { .user_agent = "kftrainer/" VERSION };

/* kube_opts.named */
static struct kube_opts how_named(struct arena *arena, const struct cluster_opts *opts)
{
	const struct {
		const char *option, *value;
	} given[] = { { "kubeconfig", opts->kubeconfig }, { "context", opts->context } };
	struct kube_opts ret = how;

	ret.named = "";
	for (size_t i = 0; i < N_ELEMENTS(given); i++)
		if (given[i].value)
			ret.named = arena_printf(arena, "%s --%s %s", ret.named,
						 given[i].option,
						 str_sh(arena, given[i].value));
	return ret;
}

int cluster_connect(struct kube **ret, const struct cluster_opts *opts, struct error *err)
{
	const struct kube_config_flags flags = { .kubeconfig = opts->kubeconfig,
						 .context = opts->context };
	cleanup_kube_config struct kube_config config = { 0 };
	cleanup_arena struct arena arena = { 0 };
	const struct kube_opts named = how_named(&arena, opts);

	if (stop_setup(err) || kube_config_load(&config, &flags, err))
		return -1;
	return kube_new(ret, &config, &named, err);
}

/* Does an option require a cluster: --context, or a --kubeconfig that does not exist? */
static bool names_cluster(const struct where_opts *opts)
{
	const char *file = opts->cluster.kubeconfig;

	return opts->cluster.context || (file && *file && !file_exists(file));
}

/* 0: *config is loaded; 1: no cluster is configured. */
static int find_cluster(struct kube_config *config, const struct where_opts *opts,
			struct error *err)
{
	const struct kube_config_flags flags = { .kubeconfig = opts->cluster.kubeconfig,
						 .context = opts->cluster.context,
						 .ns = opts->ns };
	struct error why = { 0 };

	if (!kube_config_load(config, &flags, &why))
		return 0;
	if (why.kind == ERR_NOT_FOUND && !names_cluster(opts))
		return 1;
	*err = why;
	return -1;
}

/* Refuse a namespace that would change a URL's path. */
static int check_namespace(const char *ns, struct error *err)
{
	const char *fault = name_label_invalid(ns);

	if (!fault)
		return 0;
	return error_set(err, ERR_INVALID, "invalid namespace '%s': a name %s", ns,
			 fault);
}

int where_connect(struct kube **ret, const char **ret_ns, struct arena *arena,
		  const struct where_opts *opts, struct error *err)
{
	cleanup_kube_config struct kube_config config = { 0 };
	bool named = opts->cluster.kubeconfig || opts->cluster.context;
	struct kube_opts of_cluster, here = how;
	int rc;

	*ret_ns = opts->ns ? opts->ns : "default";
	if (opts->local && named)
		return error_set(
			err, ERR_USAGE,
			"--local cannot be combined with --kubeconfig or --context");
	if (stop_setup(err))
		return -1;
	rc = opts->local ? 1 : find_cluster(&config, opts, err);
	if (rc < 0)
		return -1;
	if (!rc && !opts->ns && config.ns)
		*ret_ns = arena_strdup(arena, config.ns);
	if (check_namespace(*ret_ns, err))
		return -1;
	of_cluster = how_named(arena, &opts->cluster);
	if (!rc)
		return kube_new(ret, &config, &of_cluster, err);
	state_sweep();
	here.named = opts->from;
	return machine_connect(ret, &here, err);
}

bool cluster_report_change(const char *cmd, const struct change *change)
{
	if (change->kind == CHANGE_LOST)
		cmd_complain(cmd, "%s; trying again", change->err.msg);
	else if (change->kind == CHANGE_FOUND)
		cmd_complain(cmd, "connected again");
	return change->kind == CHANGE_LOST || change->kind == CHANGE_FOUND;
}
