/*
 * install.c - what a cluster needs to know of us: printed, or applied.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/manifests.h"
#include "cmd/out.h"

enum { FORMAT_NONE, FORMAT_YAML, FORMAT_JSON };

struct install_opts {
	struct manifests_opts what;
	bool crds, controller, runtimes, dry_run;
	int output;
};

static const char *const formats[] = { "none", "yaml", "json", NULL };

static const struct opt opts_table[] = {
	OPT_BOOL(0, "crds", "only the CustomResourceDefinitions; printed, unless --apply",
		 struct install_opts, crds),
	OPT_BOOL(0, "controller", "only the controller and what it needs",
		 struct install_opts, controller),
	OPT_BOOL(0, "runtimes", "only the built-in runtimes", struct install_opts,
		 runtimes),
	OPT_BOOL(0, "dry-run", "print what would be applied", struct install_opts,
		 dry_run),
	OPT_ENUM('o', "output", "FORMAT", "print it so; needs no cluster",
		 struct install_opts, output, formats),
	OPT_STR('n', "namespace", "NS", "of the controller: kubeflow-system",
		struct install_opts, what.ns),
	OPT_STR(0, "image", "REF", "our own image: " INSTALL_IMAGE, struct install_opts,
		what.image),
	OPT_STR(0, "image-registry", "PREFIX",
		"take every other image from there: a mirror", struct install_opts,
		what.registry),
	OPT_BOOL(0, "upstream-images", "initializers of runtimes: upstream's, not ours",
		 struct install_opts, what.upstream_images),
	OPT_INT(0, "replicas", "N", "of the controller: 2", struct install_opts,
		what.replicas, 1, 100),
	OPT_STR(0, "feature-gates", "LIST", "of the controller: TrainJobStatus=true",
		struct install_opts, what.gates),
	OPT_STRS(0, "runtime", "NAME",
		 "of the built-in runtimes only this; may be repeated",
		 struct install_opts, what.runtimes),
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
	return parts ? parts : INSTALL_ALL;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	struct install_opts opts = *(const struct install_opts *)values;
	cleanup_schema struct schema *schema = NULL;
	cleanup_json cJSON *list = NULL;

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	opts.what.parts = parts_of(&opts);
	if (input_schema(&schema, err) || manifests_build(&list, schema, &opts.what, err))
		return -1;
	if (!opts.output && !opts.dry_run && opts.what.parts != INSTALL_CRDS) {
		cmd_complain("install", "applying is not built yet; -o yaml prints");
		return EXIT_UNAVAILABLE;
	}
	return print(opts.output, list, err);
}

const struct cmd cmd_install = {
	.name = "install",
	.args = "",
	.summary = "put the controller, its CRDs and the runtimes into a cluster",
	.example = "kftrainer install --crds | kubectl apply --server-side -f -\n"
		   "kftrainer install -o yaml > trainer.yaml",
	.opts = opts_table,
	.opts_size = sizeof(struct install_opts),
	.run = run,
};
