/* page.c - the command `ui`: a page about the jobs, for a browser on this machine. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "ui/ui.h"

struct page_opts {
	struct where_opts where;
	bool all;
	int64_t port, idle_ms;
};

static const struct opt opts_table[] = {
	WHERE_OPTIONS(struct page_opts),
	OPT_BOOL('A', "all-namespaces", "jobs in all namespaces", struct page_opts, all),
	OPT_INT(0, "port", "PORT", "port on 127.0.0.1 (default: one that is free)",
		struct page_opts, port, 1, 65535),
	OPT_DURATION(0, "idle", "TIME",
		     "end after that time without a request (default: never)",
		     struct page_opts, idle_ms, 1000, 604800000),
	{ .type = OPT_END },
};

static void on_ready(void *ctx, const char *url)
{
	printf("%s\n", url);
	fflush(stdout);
	fprintf(stderr, "open it in a browser on this machine; Ctrl-C ends\n");
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct page_opts *opts = values;
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *k = NULL;
	struct ui_conf conf = { .port = (int)opts->port,
				.idle_ms = opts->idle_ms,
				.on_ready = on_ready };

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	if (where_connect(&k, &conf.ns, &arena, &opts->where, err))
		return -1;
	conf.kube = k;
	if (opts->all)
		conf.ns = NULL;
	return ui_serve(&conf, err) ? -1 : EXIT_OK;
}

const struct cmd cmd_ui = {
	.name = "ui",
	.args = "",
	.summary = "show the jobs on a page in a browser on this machine",
	.about =
		"Prints the URL of a page on 127.0.0.1, which one browser can open once. It lists\n"
		"the jobs that you may read; of each it has what 'why' says, pods, events, the\n"
		"last lines of the logs, and the YAML. Ends with Ctrl-C.",
	.example = "kftrainer ui\n"
		   "kftrainer ui --local --port 8123 --idle 1h",
	.opts = opts_table,
	.opts_size = sizeof(struct page_opts),
	.run = run,
};
