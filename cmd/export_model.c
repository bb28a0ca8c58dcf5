/*
 * export_model.c - upload the files that a job has trained (store/upload.h).
 *
 * Runs as a step of the runtime after the trainer's (dependsOn), or by hand. Configured
 * like the initializers: by environment variables, and by options, which take precedence.
 */

#include "base/cleanup.h"
#include "base/stop.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/export_register.h"
#include "cmd/ui/env.h"
#include "cmd/ui/fetchview.h"
#include "store/store.h"
#include "store/upload.h"

#define DEFAULT_DIRECTORY \
	"/workspace/output" /* as in upstream's runtimes for torchtune */

struct export_opts {
	const char *uri, *ignore, *allow;
	struct register_opts reg;
	int progress;
	int64_t connections, retries;
};

static const struct opt opts_table[] = {
	OPT_STR(0, "uri", "URI", "destination (default: STORAGE_URI)", struct export_opts,
		uri),
	OPT_STR(0, "allow", "PATTERNS", "upload only these files: '*.json,*.safetensors'",
		struct export_opts, allow),
	OPT_STR(0, "ignore", "PATTERNS", "skip these files (default: IGNORE_PATTERNS)",
		struct export_opts, ignore),
	OPT_ENUM(0, "progress", "HOW", "how to report progress", struct export_opts,
		 progress, fetchview_words),
	OPT_INT(0, "connections", "N", "parallel parts of 5 MiB or more (default: 4)",
		struct export_opts, connections, 1, UPLOAD_MAX_CONNECTIONS),
	OPT_INT(0, "retries", "N", "retries per request (default: 6)", struct export_opts,
		retries, 1, 1000),
	OPT_STR(0, "register", "URI", "register the model here after the upload",
		struct export_opts, reg.uri),
	OPT_STR(0, "model", "NAME",
		"its name there (default: the destination's last part)",
		struct export_opts, reg.model),
	OPT_STR(0, "version", "V", "its version there (default: from its digest)",
		struct export_opts, reg.version),
	OPT_STR(0, "description", "TEXT", "description of the version",
		struct export_opts, reg.description),
	OPT_STRS(0, "property", "NAME=VALUE", "property of the version; repeatable",
		 struct export_opts, reg.properties),
	{ .type = OPT_END },
};

static const char *pick(const char *option, const char *name)
{
	return option ? option : env_variable(NULL, name);
}

static void on_file(void *ctx, const char *path, int64_t bytes, bool sent)
{
	fetchview_file(ctx, sent ? FETCH_DONE : FETCH_PRESENT, path, bytes);
}

/* Nothing is uploaded that the registry will refuse. */
static int probe(struct export_register *e, const struct upload_conf *conf,
		 const char *folder)
{
	struct error err;

	if (!export_register_probe(e, conf, folder, &err))
		return EXIT_OK;
	cmd_complain("export-model", "not uploaded: %s", err.msg);
	return EXIT_FAILED;
}

static int send_all(struct upload_conf *conf, const char *folder, struct fetchview *view,
		    struct error *err)
{
	struct upload_progress now = { 0 };
	struct fetch_progress last;
	int rc = upload_run(conf, folder, &now, err);

	last = fetchview_upload(&now);
	fetchview_end(view, &last, rc ? err : NULL);
	if (!rc)
		return EXIT_OK;
	cmd_complain("export-model", "%s", err->msg);
	return EXIT_FAILED;
}

/* ctx of the registry's lines is the view, too: it has ended, and they are on their own. */
static int register_it(struct export_register *e, const struct upload_conf *conf,
		       const char *folder, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct registry_result got;

	if (export_register_run(e, conf, folder, &got, err)) {
		cmd_complain("export-model", "uploaded, but not registered: %s",
			     err->msg);
		return EXIT_FAILED;
	}
	fetchview_say(conf->ctx,
		      arena_printf(&arena, "%s: version %s of %s",
				   got.existed ? "registered before" : "registered",
				   str_visible(&arena, got.version, false),
				   str_visible(&arena, e->model.name, false)));
	return EXIT_OK;
}

static int check_register(struct export_register *ret, struct arena *arena,
			  const struct export_opts *o, const char *uri, struct error *err)
{
	const struct register_opts *r = &o->reg;

	if (r->uri)
		return export_register_plan(ret, arena, r, uri, err);
	if (r->model || r->version || r->description || r->properties.n)
		return error_set(err, ERR_USAGE,
				 "--model, --version, --description and --property need "
				 "--register URI");
	return 0;
}

int export_model_check(int argc, char **argv, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct export_register reg = { 0 };
	struct export_opts o = { 0 };
	int rc = opt_parse(opts_table, &o, &argc, &argv, err) ||
				 check_register(&reg, &arena, &o, o.uri, err)
			 ? -1
			 : 0;

	opt_release(opts_table, &o);
	return rc;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct export_opts *o = values;
	const struct http_conf http = { .user_agent = "kftrainer/" VERSION };
	cleanup_arena struct arena arena = { 0 };
	struct store_conf place;
	struct export_register reg = { 0 };
	struct fetchview view;
	const char *folder;
	const struct filter filter = {
		.allow = filter_list(&arena, o->allow),
		.ignore = filter_list(&arena, pick(o->ignore, "IGNORE_PATTERNS")),
	};
	struct upload_conf conf = { .uri = pick(o->uri, "STORAGE_URI"),
				    .env = env_variable,
				    .filter = &filter,
				    .connections = (unsigned)o->connections,
				    .tries = (int)o->retries,
				    .tick = fetchview_upload_tick,
				    .file = on_file,
				    .say = fetchview_say,
				    .ctx = &view };
	int rc;

	if (argc > 1)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[1]);
	if (!conf.uri)
		return error_set(err, ERR_USAGE,
				 "no destination: set STORAGE_URI or pass --uri");
	folder = argc ? argv[0] : DEFAULT_DIRECTORY;
	if (check_register(&reg, &arena, o, conf.uri, err))
		return -1;
	place = (struct store_conf){ .uri = conf.uri, .env = env_variable };
	if (stop_setup(err) || store_http_new(&conf.http, &place, &http, err))
		return -1;
	rc = probe(&reg, &conf, folder);
	if (rc == EXIT_OK) {
		fetchview_begin(&view, (enum fetchview_kind)o->progress, "export-model");
		view.verb = "sent";
		rc = send_all(&conf, folder, &view, err);
	}
	if (rc == EXIT_OK && o->reg.uri)
		rc = register_it(&reg, &conf, folder, err);
	http_client_free(conf.http);
	return rc;
}

const struct cmd cmd_export_model = {
	.name = "export-model",
	.args = "[DIRECTORY|FILE]",
	.summary = "upload a trained model",
	.about =
		"Uploads all files in the directory (/workspace/output) to s3://BUCKET/PREFIX or\n"
		"gs://BUCKET/PREFIX, in parallel parts with checksums, or as one commit, with Git\n"
		"LFS for large files, to hf://ORG/NAME[@REVISION][/DIRECTORY]. Skips unchanged\n"
		"files that the destination already has; after a crash it resumes the upload.\n"
		"Exits with 0 only if all files are uploaded. A single file is uploaded to\n"
		"exactly that URI.\n"
		"\n"
		"With --register, the model's version is registered once, by its digest, in\n"
		"Kubeflow's model registry (model-registry://HOST, model-registry+http://HOST)\n"
		"or in MLflow (mlflow+https://HOST, mlflow+http://HOST): docs/registry.md.\n"
		"\n"
		"Use it as a step of a runtime: examples/export.yaml. Credentials come from the\n"
		"environment, as for initialize-model: ACCESS_KEY_ID and SECRET_ACCESS_KEY, a\n"
		"role; HF_TOKEN.",
	.example =
		"kftrainer export-model ./checkpoints --uri s3://bucket/models/m1\n"
		"STORAGE_URI=s3://bucket/m1 kftrainer export-model\n"
		"HF_TOKEN=... kftrainer export-model ./out --uri hf://org/m1\n"
		"kftrainer export-model ./out --uri s3://b/m1 --register mlflow+https://mlflow",
	.opts = opts_table,
	.opts_size = sizeof(struct export_opts),
	.flags = CMD_IN_POD,
	.run = run,
};
