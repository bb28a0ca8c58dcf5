#include "cmd/local.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cmd/cmd.h"
#include "cmd/viewer.h"
#include "gpu/gpu.h"
#include "local/run.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

static void tell_end(struct viewer *v, const struct local_result *result, int64_t ms)
{
	cleanup_arena struct arena arena = { 0 };

	viewer_erase(v);
	if (result->report[0])
		fprintf(stderr, "%s%s", str_visible(&arena, result->report, true),
			str_ends(result->report, "\n") ? "" : "\n");
	viewer_end(v,
		   result->interrupted ? "interrupted"
		   : result->exit_code ? "failed"
				       : "complete",
		   result->exit_code, ms);
}

/* What cannot run here, whatever the machine: one clear line each. */
static int refuse(const struct job *job, struct error *err)
{
	const cJSON *policy = runtime_ml_policy(job->runtime);
	const char *kind = policy_mpi(policy)    ? "MPI"
			   : policy_flux(policy) ? "flux"
						 : NULL;

	if (kind)
		return error_set(
			err, ERR_UNSUPPORTED,
			"TrainJob %s: runtime %s: --local has no launcher for %s "
			"yet; --dry-run=client shows what a cluster would get",
			job->name, meta_name(job->runtime), kind);
	for (int i = 0; i < N_INITIALIZERS; i++)
		if (tj_initializer(job->trainjob, (enum initializer)i))
			return error_set(err, ERR_UNSUPPORTED,
					 "TrainJob %s: spec.initializer: --local cannot "
					 "download yet; take it out and read the files "
					 "from a folder of this machine",
					 job->name);
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

int local_submit(const struct job *job, bool quiet, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct viewer v;
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
		.no_namespaces = str_eq(isolation, "none"),
		.observer = { .on_progress = viewer_progress,
			      .on_note = viewer_note,
			      .on_line = viewer_line,
			      .ctx = &v },
	};

	if (refuse(job, err) || stop_setup(err))
		return -1;
	viewer_begin(&v, job->name, quiet);
	if (local_run(&opts, result, err)) {
		viewer_erase(&v);
		if (err->kind == ERR_EXISTS)
			add_hint(err, job);
		return -1;
	}
	tell_end(&v, result, clock_ms() - start);
	return result->exit_code;
}
