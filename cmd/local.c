#include "cmd/local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/meta.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cmd/cmd.h"
#include "cmd/ui/render.h"
#include "cmd/ui/viewer.h"
#include "gpu/gpu.h"
#include "local/run.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/framework.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"

/* What the run calls has a viewer for its context: the first member. */
struct watcher {
	struct viewer viewer;
	const char *format;
};

static void on_begin(void *ctx, const cJSON *trainjob)
{
	struct watcher *w = ctx;
	cleanup_json cJSON *items = cJSON_CreateArray();
	struct error err = { 0 };

	if (!w->format)
		return;
	viewer_erase(&w->viewer);
	cJSON_AddItemToArray(items, json_dup(trainjob));
	if (render_objects(items, trainjob, w->format, &err))
		cmd_complain("submit", "%s", err.msg);
	viewer_erase(&w->viewer); /* what is written goes out before the job's lines */
}

static void tell_end(struct viewer *v, const struct local_result *result, int64_t ms)
{
	cleanup_arena struct arena arena = { 0 };

	viewer_erase(v);
	if (result->report[0])
		fprintf(stderr, "%s%s", str_visible(&arena, result->report, true),
			str_ends(result->report, "\n") ? "" : "\n");
	viewer_end(v,
		   result->interrupted ? "interrupted"
		   : result->timed_out ? "timed out"
		   : result->exit_code ? "failed"
				       : "complete",
		   result->exit_code, ms);
}

/* What cannot run here, whatever the machine: one clear line each. */
static int refuse(const struct job *job, struct error *err)
{
	const char *kind =
		framework_cluster_only(plugins, runtime_ml_policy(job->runtime));

	if (kind)
		return error_set(
			err, ERR_UNSUPPORTED,
			"TrainJob %s: runtime %s: --local has no launcher for %s "
			"yet; --dry-run=client shows what a cluster would get",
			job->name, meta_name(job->runtime), kind);
	return 0;
}

/* "registry/path/NAME:tag@digest" */
static const char *image_name(struct arena *arena, const char *image)
{
	const char *base = path_base(image ? image : "");

	return str_slice(arena, base, strcspn(base, ":@"));
}

/*
 * An image is not pulled here, but what those of the initializers hold is this program:
 * upstream's by their names, ours by its first argument.
 */
static const char *initializer_of(struct arena *arena, const cJSON *container)
{
	const char *name = image_name(arena, container_image(container));
	const cJSON *args = container_args(container);
	const char *first = args && args->child ? args->child->valuestring : NULL;

	if (container_command(container) && container_command(container)->child)
		return NULL;
	if (str_eq(name, DATASET_INITIALIZER) || str_eq(first, "initialize-dataset"))
		return "initialize-dataset";
	if (str_eq(name, MODEL_INITIALIZER) || str_eq(first, "initialize-model"))
		return "initialize-model";
	return NULL;
}

static void use_this_program(cJSON *containers, const char *self)
{
	cJSON *c;

	json_each(c, containers) {
		cleanup_arena struct arena arena = { 0 };
		const char *command = initializer_of(&arena, c);
		const char *const argv[] = { self, command };
		cleanup_json cJSON *list =
			command ? cJSON_CreateStringArray(argv, 2) : NULL;
		cleanup_json cJSON *none = cJSON_CreateArray();

		if (!list)
			continue;
		container_set_command(c, list);
		container_set_args(c, none);
	}
}

static int map_initializers(const cJSON *objects, struct error *err)
{
	cleanup_free char *self = realpath("/proc/self/exe", NULL);
	cJSON *object, *rjob;

	if (!self)
		return error_errno(err, errno, "/proc/self/exe");
	json_each(object, objects) {
		if (!str_eq(json_str(object, "kind"), "JobSet"))
			continue;
		json_each(rjob, jobset_jobs(json_get(object, "spec"))) {
			use_this_program(pod_containers(rjob_pod_spec(rjob)), self);
			use_this_program(pod_init_containers(rjob_pod_spec(rjob)), self);
		}
	}
	return 0;
}

/* A job of that name runs already: what now? */
static void add_hint(struct error *err, const struct job *job)
{
	bool elsewhere = !str_eq(job->ns, "default");
	size_t len = strlen(err->msg);

	snprintf(err->msg + len, sizeof(err->msg) - len,
		 ": 'kftrainer logs -f %s%s%s' shows it, --name gives this one another "
		 "name",
		 job->name, elsewhere ? " -n " : "", elsewhere ? job->ns : "");
}

int local_submit(const struct job *job, const struct local_show *show, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct watcher w = { .format = show->format };
	cleanup_free char *workdir = getcwd(NULL, 0);
	cleanup_free struct local_result *result = xcalloc(1, sizeof(*result));
	const char *isolation = getenv("KFTRAINER_ISOLATION");
	int64_t start = clock_ms();
	const struct local_run_opts opts = {
		.ns = job->ns,
		.name = job->name,
		.trainjob = job->trainjob,
		.objects = job->objects,
		.gpus = gpu_visible(&arena),
		.workdir = workdir ? workdir : "/",
		.torch_fix = (const char *)asset_find("torch/sitecustomize.py")->data,
		.no_namespaces = str_eq(isolation, "none"),
		.timeout_ms = show->timeout_ms,
		.max_restarts = show->max_restarts,
		.observer = { .on_progress = viewer_progress,
			      .on_note = viewer_note,
			      .on_line = viewer_line,
			      .on_pause = viewer_pause,
			      .on_begin = on_begin,
			      .ctx = &w },
	};

	if (refuse(job, err) || map_initializers(job->objects, err) || stop_setup(err))
		return -1;
	viewer_begin(&w.viewer, job->name, show->quiet);
	if (local_run(&opts, result, err)) {
		viewer_erase(&w.viewer);
		if (err->kind == ERR_EXISTS)
			add_hint(err, job);
		return -1;
	}
	tell_end(&w.viewer, result, clock_ms() - start);
	return result->exit_code;
}
