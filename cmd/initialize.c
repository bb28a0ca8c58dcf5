/*
 * initialize.c - initialize-dataset, initialize-model: fill a volume (store/fetch.h).
 *
 * Configured by upstream's environment variables, like its images, or by options, which
 * take precedence.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/stop.h"
#include "base/str.h"
#include "client/cache_start.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "cmd/ui/env.h"
#include "cmd/ui/fetchpost.h"
#include "cmd/ui/fetchview.h"
#include "cmd/ui/termination_message.h"
#include "net/retry.h"
#include "net/uri.h"
#include "store/fetch.h"
#include "store/store.h"

struct init_opts {
	const char *uri, *to, *ignore, *allow;
	int progress;
	int64_t connections, retries;
	bool recheck, no_verify, allow_empty;
};

/* The differences of the two commands. */
struct kind {
	const char *name, *folder, *allow, *ignore;
	bool model;
};

static const struct kind dataset = {
	.name = "initialize-dataset",
	.folder = "/workspace/dataset",
};
static const struct kind model = {
	.name = "initialize-model",
	.folder = "/workspace/model",
	.allow = FILTER_MODEL_ALLOW,
	.ignore = FILTER_MODEL_IGNORE,
	.model = true,
};

/* The context of the fetch's callbacks: the terminal, and the status server. */
struct watch {
	struct fetchview view;
	struct fetchpost *post;
};

static void on_tick(void *ctx, const struct fetch_progress *now)
{
	struct watch *w = ctx;

	fetchview_tick(&w->view, now);
	fetchpost_tick(w->post, fetchview_percent(now),
		       fetchview_seconds_left(&w->view, now));
}

static void on_file(void *ctx, enum fetch_event event, const char *path, int64_t bytes)
{
	struct watch *w = ctx;

	fetchview_file(&w->view, event, path, bytes);
}

static void on_say(void *ctx, const char *line)
{
	struct watch *w = ctx;

	fetchview_say(&w->view, line);
}

/* The option's value, else the variable's, else upstream's default. */
static const char *pick(const char *option, const char *name, const char *other)
{
	const char *value = option ? option : env_variable(NULL, name);

	return value ? value : other;
}

/* The default allow list applies only to hub repositories, as upstream's. */
static struct filter make_filter(struct arena *a, const struct kind *k,
				 const struct init_opts *o, const struct scheme *scheme)
{
	const char *allow = scheme->default_allow ? k->allow : NULL;
	const char *ignore = pick(o->ignore, "IGNORE_PATTERNS", k->ignore);

	return (struct filter){
		.allow = filter_list(a, o->allow ? o->allow : allow),
		.ignore = filter_list(a, ignore),
		.allow_given = o->allow,
		/* the Python SDK always sets the variable, also to the default */
		.ignore_given = o->ignore || !str_eq(ignore, k->ignore),
		.has_weights = k->model,
	};
}

static int fetch(const struct kind *k, const char *uri, struct fetch_conf *c,
		 struct error *err)
{
	struct watch *w = c->ctx;
	struct store_conf store = { .uri = uri,
				    .env = env_variable,
				    .ctx = w,
				    .http = c->http,
				    .tries = c->tries < 0 ? 0 : c->tries,
				    .model = k->model,
				    .unverified = c->unverified,
				    .target = c->target,
				    .say = on_say };
	struct fetch_progress now = { 0 };
	int rc;

	if (c->scheme->open(&c->store, &store, err))
		return -1;
	w->post = fetchpost_start(env_variable);
	rc = fetch_run(c, &now, err);
	fetchpost_stop(w->post, rc ? -1 : 100);
	fetchview_end(&w->view, &now, rc ? err : NULL);
	c->scheme->close(c->store);
	if (!rc)
		return EXIT_OK;
	cmd_complain(k->name, "%s", err->msg);
	return EXIT_FAILED;
}

static void on_cache_line(void *ctx, const char *line)
{
	cmd_complain("initialize-dataset", "%s", line);
}

/* Create the data cache in the cluster of this pod, or of the kubeconfig. */
static int initialize_cache(const char *uri, struct error *err)
{
	const struct where_opts here = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *kube = NULL;
	struct cache_settings settings;
	struct cache_start conf = { .settings = &settings, .say = on_cache_line };

	if (cache_settings_read(&settings, &arena, uri, env_variable, NULL, err) ||
	    where_connect(&kube, &conf.ns, &arena, &here, err))
		return -1;
	if (kube_is_inside(kube))
		return error_set(err, ERR_UNSUPPORTED,
				 "%s needs a cluster with LeaderWorkerSet", uri);
	conf.kube = kube;
	return cache_start(&conf, err) ? -1 : EXIT_OK;
}

static int run(const struct kind *k, const struct init_opts *o, int argc, char **argv,
	       struct error *err)
{
	const char *uri = pick(o->uri, "STORAGE_URI", NULL);
	const struct store_conf place = { .uri = uri, .env = env_variable };
	const unsigned connections = (unsigned)o->connections;
	const struct http_conf http = { .user_agent = "kftrainer/" VERSION,
					.receive_bytes = fetch_receive_bytes(connections),
					.max_idle = FETCH_MAX_CONNECTIONS };
	cleanup_arena struct arena arena = { 0 };
	struct watch w = { 0 };
	struct filter filter;
	struct fetch_conf c = { .uri = uri,
				.target = pick(o->to, "OUTPUT_PATH", k->folder),
				.filter = &filter,
				.connections = connections,
				.tries = o->retries ? (int)o->retries : -1,
				.unverified = o->no_verify,
				.recheck = o->recheck,
				.allow_empty = o->allow_empty,
				.tick = on_tick,
				.file = on_file,
				.say = on_say,
				.ctx = &w };
	int rc;

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	if (!uri)
		return error_set(err, ERR_USAGE,
				 "no source: set STORAGE_URI or pass --uri");
	if (!k->model && str_starts(uri, "cache://"))
		return initialize_cache(uri, err);
	if (scheme_find(&c.scheme, uri, err) || stop_setup(err) ||
	    store_http_new(&c.http, &place, &http, err))
		return -1;
	filter = make_filter(&arena, k, o, c.scheme);
	fetchview_begin(&w.view, (enum fetchview_kind)o->progress, k->name);
	rc = fetch(k, uri, &c, err);
	http_client_free(c.http);
	return rc;
}

static int ended(int rc, const struct error *err)
{
	if (rc)
		termination_message(err->msg);
	return rc;
}

static int run_dataset(const void *opts, int argc, char **argv, struct error *err)
{
	return ended(run(&dataset, opts, argc, argv, err), err);
}

static int run_model(const void *opts, int argc, char **argv, struct error *err)
{
	return ended(run(&model, opts, argc, argv, err), err);
}

static const struct opt opts_table[] = {
	OPT_STR(0, "uri", "URI", "source (default: STORAGE_URI)", struct init_opts, uri),
	OPT_STR(0, "to", "DIR",
		"target directory (default: OUTPUT_PATH, else /workspace/dataset or "
		"/workspace/model)",
		struct init_opts, to),
	OPT_STR(0, "allow", "PATTERNS", "fetch only these files: '*.json,data/*'",
		struct init_opts, allow),
	OPT_STR(0, "ignore", "PATTERNS",
		"skip these files (default: IGNORE_PATTERNS; ',' for none)",
		struct init_opts, ignore),
	OPT_ENUM(0, "progress", "HOW", "how to report progress", struct init_opts,
		 progress, fetchview_words),
	OPT_INT(0, "connections", "N", "maximum number of connections (default: 16)",
		struct init_opts, connections, 1, FETCH_MAX_CONNECTIONS),
	OPT_INT(0, "retries", "N", "retries without progress in between (default: 6)",
		struct init_opts, retries, 1, 1000),
	OPT_BOOL(0, "no-verify",
		 "compare only sizes: faster, but corruption is not detected",
		 struct init_opts, no_verify),
	OPT_BOOL(0, "recheck",
		 "hash existing files, even if the manifest lists them as verified",
		 struct init_opts, recheck),
	OPT_BOOL(0, "allow-empty", "succeed even if there are no files to fetch",
		 struct init_opts, allow_empty),
	{ .type = OPT_END },
};

/* clang-format off */
#define ABOUT_SOURCES \
	"URIs: hf://ORG/NAME[@REVISION][/DIRECTORY], s3://BUCKET/PREFIX,\n" \
	"gs://BUCKET/PREFIX, https://HOST/FILE, file:///PATH, pvc://CLAIM/PATH; see\n" \
	"kftrainer(1). Credentials come from the environment: ACCESS_TOKEN or HF_TOKEN,\n" \
	"ACCESS_KEY_ID and SECRET_ACCESS_KEY, ...\n" \
	"\n" \
	"Skips files that are complete and verified; after a crash it resumes the\n" \
	"download. Exits with 0 only if all files are complete and verified."
/* clang-format on */

const struct cmd cmd_initialize_dataset = {
	.name = "initialize-dataset",
	.args = "",
	.summary = "download a dataset into the job's volume",
	.about =
		"Downloads STORAGE_URI to /workspace/dataset, as upstream's image does.\n"
		"For cache://SCHEMA/TABLE it creates the TrainJob's data cache: a\n"
		"LeaderWorkerSet and a Service; see kftrainer(1).\n\n" ABOUT_SOURCES,
	.example = "# as in a pod: STORAGE_URI=hf://tatsu-lab/alpaca\n"
		   "kftrainer initialize-dataset --uri file://$PWD/code --to data\n"
		   "# --uri https://host/SHA256SUMS: all files in that list, verified\n"
		   "kftrainer initialize-dataset --uri file://$PWD/code --to data \\\n"
		   "    --ignore '*.tmp,cache/' --progress json",
	.opts = opts_table,
	.opts_size = sizeof(struct init_opts),
	.flags = CMD_IN_POD,
	.run = run_dataset,
};

const struct cmd cmd_initialize_model = {
	.name = "initialize-model",
	.args = "",
	.summary = "download a model into the job's volume",
	.about =
		"Downloads STORAGE_URI to /workspace/model, as upstream's image does. Unless\n"
		"IGNORE_PATTERNS or --ignore says otherwise, it skips *.msgpack, *.h5, *.bin,\n"
		"*.pt and *.pth, and downloads from hf:// only *.json, *.safetensors, *.model,\n"
		"*.txt, *.gguf, *.jinja and *.tiktoken. A file that the URI names is always\n"
		"downloaded, and so are weights in other formats if there are no safetensors or\n"
		"GGUF.\n"
		"\n" ABOUT_SOURCES,
	.example = "# as in a pod: STORAGE_URI=hf://org/model ACCESS_TOKEN=...\n"
		   "kftrainer initialize-model --uri file://$PWD/code --to model",
	.opts = opts_table,
	.opts_size = sizeof(struct init_opts),
	.flags = CMD_IN_POD,
	.run = run_model,
};
