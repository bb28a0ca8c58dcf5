/*
 * install.c - what a cluster needs to know of us; so far the CRDs.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/out.h"
#include "trainer/api.h"

struct install_opts {
	bool crds;
	int output;
};

static const char *const formats[] = { "yaml", "json", NULL };

static const struct opt opts_table[] = {
	OPT_BOOL(0, "crds", "print the CustomResourceDefinitions", struct install_opts,
		 crds),
	OPT_ENUM('o', "output", "FORMAT", "how to print them", struct install_opts,
		 output, formats),
	{ .type = OPT_END },
};

/* JSON on one line: indentation would make it seven times as large. */
static int print(const char *format, const cJSON *list, struct error *err)
{
	cleanup_free char *text = NULL;

	if (out_format(format) != OUT_JSON)
		return out_doc(out_format(format), list, err);
	text = json_text(list);
	puts(text);
	return 0;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	static const char *const kinds[] = { TRAINJOB_KIND, RUNTIME_KIND,
					     CLUSTER_RUNTIME_KIND };
	const struct install_opts *opts = values;
	cleanup_schema struct schema *schema = NULL;
	cJSON *items = cJSON_CreateArray();
	cleanup_json cJSON *list = out_list(items);

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	if (!opts->crds) {
		cmd_complain("install", "not built yet, except for --crds");
		return EXIT_UNAVAILABLE;
	}
	if (input_schema(&schema, err))
		return -1;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		cJSON_AddItemToArray(items, schema_crd(schema, kinds[i]));
	return print(formats[opts->output], list, err);
}

const struct cmd cmd_install = {
	.name = "install",
	.args = "",
	.summary = "print what a cluster needs: so far the CRDs",
	.example = "kftrainer install --crds | kubectl apply --server-side -f -",
	.opts = opts_table,
	.opts_size = sizeof(struct install_opts),
	.run = run,
};
