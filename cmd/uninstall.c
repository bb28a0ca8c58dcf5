/* uninstall.c - remove what install has applied to a cluster (client/install_remove.h). */
#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "client/install_remove.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "cmd/ui/out.h"
#include "spec/input.h"
#include "trainer/api.h"

struct uninstall_opts {
	struct cluster_opts cluster;
	struct manifests_opts what;
	bool crds, controller, runtimes, dry_run;
};

static const struct opt opts_table[] = {
	OPT_BOOL(0, "crds", "also the CustomResourceDefinitions, with all TrainJobs",
		 struct uninstall_opts, crds),
	OPT_BOOL(0, "controller", "only the controller and the objects that it needs",
		 struct uninstall_opts, controller),
	OPT_BOOL(0, "runtimes", "only the built-in runtimes", struct uninstall_opts,
		 runtimes),
	OPT_STRS(0, "runtime", "NAME", "only this runtime; repeatable",
		 struct uninstall_opts, what.runtimes),
	OPT_STR('n', "namespace", "NAMESPACE",
		"the controller's namespace (default: kubeflow-system)",
		struct uninstall_opts, what.ns),
	OPT_BOOL(0, "dry-run", "print the objects without removing them",
		 struct uninstall_opts, dry_run),
	CLUSTER_OPTIONS(struct uninstall_opts),
	{ .type = OPT_END },
};

static enum install_parts parts_of(const struct uninstall_opts *opts)
{
	enum install_parts parts = 0;

	if (opts->controller)
		parts |= INSTALL_CONTROLLER | INSTALL_RUNTIMES_JOB;
	if (opts->runtimes || opts->what.runtimes.n)
		parts |= INSTALL_RUNTIMES;
	if (!parts)
		parts = INSTALL_CONTROLLER | INSTALL_RUNTIMES_JOB | INSTALL_RUNTIMES;
	return opts->crds ? parts | INSTALL_CRDS : parts;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	struct uninstall_opts opts = *(const struct uninstall_opts *)values;
	const char *ns = opts.what.ns ? opts.what.ns : INSTALL_NAMESPACE;
	cleanup_arena struct arena arena = { 0 };
	cleanup_schema struct schema *schema = NULL;
	cleanup_kube struct kube *kube = NULL;
	cleanup_json cJSON *list = NULL;
	struct remove_opts how = { opts.dry_run, out_outcomes("uninstall") };

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	opts.what.parts = parts_of(&opts);
	opts.what.strict = true; /* include its objects, in case they exist */
	if (input_schema(&schema, err) || cluster_connect(&kube, &opts.cluster, err))
		return -1;
	if (opts.what.parts & INSTALL_CONTROLLER &&
	    install_cache_namespaces(kube, &arena, &opts.what.cache_namespaces, err))
		return -1;
	opts.what.cache_token_review = opts.what.cache_namespaces.n;
	if (manifests_build(&list, schema, &opts.what, err))
		return -1;
	if (opts.what.parts & INSTALL_CONTROLLER)
		cJSON_AddItemToArray(list, meta_new("coordination.k8s.io/v1", "Lease", ns,
						    TRAINER_GROUP));
	if (install_remove(kube, list, &how, err))
		return -1;
	if (opts.what.parts & INSTALL_CONTROLLER)
		printf("Namespace %s: kept, it may contain other objects\n", ns);
	return 0;
}

const struct cmd cmd_uninstall = {
	.name = "uninstall",
	.args = "",
	.summary = "remove Kubeflow Trainer from a cluster",
	.about =
		"Removes what 'kftrainer install' creates, and upstream's objects of the "
		"same\nnames. TrainJobs and their pods are kept unless --crds is given.",
	.example = "kftrainer uninstall --dry-run\n"
		   "kftrainer uninstall --context staging",
	.opts = opts_table,
	.opts_size = sizeof(struct uninstall_opts),
	.run = run,
};
