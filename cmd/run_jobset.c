/* run_jobset.c - run the JobSet on standard input, detached (machine/backend.h). */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "api/meta.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/detach.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cmd/cmd.h"
#include "cmd/gpus.h"
#include "kubelet/workspace_mount.h"
#include "local/initializers.h"
#include "local/run.h"
#include "local/state_owned.h"
#include "machine/backend.h"

static int read_input(cJSON **ret, struct error *err)
{
	cleanup_buf struct buf text = { .max = JSON_MAX_BYTES };

	if (file_read_fd(&text, STDIN_FILENO, "standard input", err) ||
	    json_parse(ret, text.data, text.len, err))
		return -1;
	if (!cJSON_IsObject(json_get(*ret, RUN_TRAINJOB)) ||
	    !cJSON_IsArray(json_get(*ret, RUN_OBJECTS)) || !json_str(*ret, RUN_SERVER) ||
	    !json_str(*ret, RUN_UID))
		return error_set(err, ERR_USAGE,
				 "want a job of 'kftrainer controller --local' on "
				 "standard input");
	return 0;
}

/* ---- the run ---------------------------------------------------------------------------- */

static void on_begin(void *ctx, const cJSON *trainjob)
{
	detach_say(ctx, EXIT_OK);
}

static int run_job(cJSON *doc, int *to, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free struct local_result *result = xcalloc(1, sizeof(*result));
	cleanup_free char *workdir = getcwd(NULL, 0);
	const cJSON *trainjob = json_get(doc, RUN_TRAINJOB);
	cJSON *objects = json_get(doc, RUN_OBJECTS);
	const struct state_owner owner = { .server = json_str(doc, RUN_SERVER),
					   .uid = json_str(doc, RUN_UID),
					   .generation =
						   json_int(doc, 0, RUN_GENERATION) };
	struct local_run_opts run = {
		.ns = meta_namespace(trainjob),
		.name = meta_name(trainjob),
		.trainjob = trainjob,
		.objects = objects,
		.workdir = workdir ? workdir : "/",
		.torch_fix = (const char *)asset_find("torch/sitecustomize.py")->data,
		.no_namespaces = str_eq(getenv("KFTRAINER_ISOLATION"), "none"),
		.owner = &owner,
		.pod_key = json_str(doc, RUN_POD_KEY),
		.observer = { .on_begin = on_begin, .ctx = to },
	};

	if (initializers_map(objects, err) ||
	    workspace_mount_stored(objects, owner.server, err) ||
	    gpus_for(&arena, &run.gpus, objects, err) || local_run(&run, result, err))
		return -1;
	return 0;
}

static int run_detached(cJSON *doc, int to)
{
	struct error err = { 0 };

	if (!stop_setup(&err) && !run_job(doc, &to, &err))
		return EXIT_OK;
	if (err.kind == ERR_EXISTS && err.code == EALREADY)
		return EXIT_OK; /* another process already runs the job */
	fprintf(stderr, "%s\n", err.msg);
	return err.kind == ERR_EXISTS ? RUN_BUSY : EXIT_FAILED;
}

static int run(const void *opts, int argc, char **argv, struct error *err)
{
	cleanup_json cJSON *doc = NULL;
	int to, code;

	if (argc)
		return error_set(err, ERR_USAGE, "takes no arguments");
	if (read_input(&doc, err))
		return -1;
	switch (detach(&to, &code, err)) {
	case 0:
		return run_detached(doc, to);
	case 1:
		return code;
	default:
		return -1;
	}
}

const struct cmd cmd_run_jobset = {
	.name = "run-jobset",
	.summary = "run a JobSet of this machine's API",
	.about = "Started by 'controller --local'.",
	.flags = CMD_HIDDEN,
	.run = run,
};
