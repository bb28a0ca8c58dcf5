/* install.c - print or apply the manifests for a cluster (client/install_apply.h). */
#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "client/install_apply.h"
#include "client/manifests.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "cmd/ui/out.h"
#include "manager/config.h"
#include "spec/input.h"

enum { FORMAT_NONE, FORMAT_YAML, FORMAT_JSON, FORMAT_NAME };
enum { DEFAULT_TIMEOUT_MS = 120000 };

struct install_opts {
	struct cluster_opts cluster;
	struct manifests_opts what;
	bool crds, controller, runtimes, runtimes_job, dry_run, apply, wait;
	int output;
	int64_t timeout_ms;
};

static const char *const formats[] = { "none", "yaml", "json", "name", NULL };

static const struct opt opts_table[] = {
	OPT_BOOL(0, "crds",
		 "only the CustomResourceDefinitions; printed unless --apply is given",
		 struct install_opts, crds),
	OPT_BOOL(0, "controller", "only the controller and the objects that it needs",
		 struct install_opts, controller),
	OPT_BOOL(0, "runtimes", "only the built-in runtimes", struct install_opts,
		 runtimes),
	OPT_STRS(0, "runtime", "NAME[=IMAGE]", "only this runtime; repeatable",
		 struct install_opts, what.runtimes),
	OPT_STRS(0, "runtime-label", "KEY=VALUE", "label for the runtimes; repeatable",
		 struct install_opts, what.runtime_labels),
	OPT_BOOL(0, "runtimes-job",
		 "a Job in place of the runtimes, which it applies: for kubectl, which "
		 "cannot apply CRDs and objects of their kinds at once",
		 struct install_opts, runtimes_job),
	OPT_ENUM('o', "output", "FORMAT", "print instead of applying; needs no cluster",
		 struct install_opts, output, formats),
	OPT_BOOL(0, "dry-run", "same as -o yaml", struct install_opts, dry_run),
	OPT_BOOL(0, "apply", "apply even with --crds", struct install_opts, apply),
	OPT_BOOL(0, "wait", "wait until the controller runs and its webhooks answer",
		 struct install_opts, wait),
	OPT_DURATION(0, "timeout", "TIME",
		     "limit for each object to become ready (default: 2m)",
		     struct install_opts, timeout_ms, 1000, 86400000),
	OPT_STR('n', "namespace", "NAMESPACE",
		"the controller's namespace (default: kubeflow-system)",
		struct install_opts, what.ns),
	OPT_STR(0, "image", "REF", "kftrainer's image (default: " INSTALL_IMAGE ")",
		struct install_opts, what.image),
	OPT_STR(0, "image-registry", "PREFIX", "registry to pull all other images from",
		struct install_opts, what.registry),
	OPT_STR(0, "cache-image", "REF",
		"image of the caches of torch-distributed-with-cache",
		struct install_opts, what.cache_image),
	OPT_BOOL(0, "upstream-images",
		 "use upstream's initializer images in the runtimes", struct install_opts,
		 what.upstream_images),
	OPT_BOOL(0, "strict-rbac",
		 "let the controller write only TrainJobs' Secrets, ConfigMaps, Services",
		 struct install_opts, what.strict),
	OPT_STRS(0, "cache-namespace", "NAMESPACE",
		 "let torch-distributed-with-cache create caches there; repeatable",
		 struct install_opts, what.cache_namespaces),
	OPT_BOOL(0, "cache-token-review", "let data caches there create TokenReviews",
		 struct install_opts, what.cache_token_review),
	OPT_INT(0, "replicas", "N", "controller replicas (default: 2)",
		struct install_opts, what.replicas, 1, 100),
	OPT_STR(0, "feature-gates", "LIST",
		"the controller's feature gates: TrainJobStatus=true",
		struct install_opts, what.gates),
	CLUSTER_OPTIONS(struct install_opts),
	{ .type = OPT_END },
};

/* JSON on one line: indentation would make the CRDs seven times as large. */
static int print(int format, cJSON *items, struct error *err)
{
	cleanup_json cJSON *list = NULL;
	cleanup_free char *text = NULL;
	const cJSON *doc;

	if (format == FORMAT_JSON) {
		list = out_list(json_dup(items));
		text = json_text(list);
		puts(text);
		return 0;
	}
	json_each(doc, items) {
		if (format == FORMAT_NAME) {
			out_name(meta_api_version(doc), meta_kind(doc), meta_name(doc));
			continue;
		}
		if (doc != items->child)
			puts("---");
		if (out_doc(OUT_YAML, doc, err))
			return -1;
	}
	return 0;
}

static enum install_parts parts_of(const struct install_opts *opts)
{
	enum install_parts parts = 0;

	if (opts->crds)
		parts |= INSTALL_CRDS;
	if (opts->controller)
		parts |= INSTALL_CONTROLLER;
	if (opts->runtimes || opts->what.runtimes.n)
		parts |= INSTALL_RUNTIMES;
	if (!parts)
		parts = INSTALL_ALL;
	if (opts->runtimes_job)
		parts = (parts & ~INSTALL_RUNTIMES) | INSTALL_RUNTIMES_JOB;
	return parts;
}

static int apply(const cJSON *list, const struct install_opts *opts, struct error *err)
{
	const struct apply_opts how = { .wait = opts->wait,
					.timeout_ms = opts->timeout_ms
							      ? opts->timeout_ms
							      : DEFAULT_TIMEOUT_MS,
					.out = out_outcomes("install") };
	cleanup_kube struct kube *kube = NULL;

	if (cluster_connect(&kube, &opts->cluster, err))
		return -1;
	return install_apply(kube, list, &how, err);
}

/* With others than these the controller would not start. */
static int check_gates(const char *gates, struct error *err)
{
	struct manager_config unused;
	char **errors;
	int rc = manager_config_load(&unused, NULL, gates, &errors, err);

	manager_config_release(&unused);
	return rc;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	struct install_opts opts = *(const struct install_opts *)values;
	cleanup_schema struct schema *schema = NULL;
	cleanup_json cJSON *list = NULL;
	bool printing = opts.output || opts.dry_run;

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	if (printing && (opts.apply || opts.wait))
		return error_set(
			err, ERR_USAGE,
			"-o and --dry-run cannot be combined with --apply or --wait");
	if (check_gates(opts.what.gates, err))
		return -1;
	opts.what.parts = parts_of(&opts);
	if (opts.what.parts == INSTALL_CRDS && !opts.apply && !opts.wait)
		printing = true;
	if (input_schema(&schema, err) || manifests_build(&list, schema, &opts.what, err))
		return -1;
	return printing ? print(opts.output, list, err) : apply(list, &opts, err);
}

const struct cmd cmd_install = {
	.name = "install",
	.args = "",
	.summary = "install the controller, its CRDs and the runtimes in a cluster",
	.about =
		"Applies all objects to the cluster of your kubeconfig, server-side. Can be\n"
		"repeated; replaces an upstream installation in place. With -o it prints the\n"
		"objects instead. JobSet must already be installed.",
	.example =
		"kftrainer install --image registry.example/kftrainer:" VERSION "\n"
		"kftrainer install --runtimes-job -o yaml | kubectl apply --server-side -f -\n"
		"kftrainer install --crds | kubectl apply --server-side -f -",
	.opts = opts_table,
	.opts_size = sizeof(struct install_opts),
	.run = run,
};
