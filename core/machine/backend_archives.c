/*
 * backend_archives.c - delete the archives of workspaces of jobs that no longer exist
 * (machine/backend_impl.h).
 */
#include "api/meta.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "local/state_impl.h"
#include "machine/backend_impl.h"
#include "machine/mirror.h"
#include "trainer/api.h"
#include "trainer/workspace_spec.h"

/* Does a job have this workspace, or one that cannot be read? */
static bool is_wanted(const cJSON *jobs, const char *digest)
{
	const cJSON *job;

	json_each(job, jobs) {
		struct workspace w;

		if (!mirror_has(job) &&
		    (workspace_of(&w, job, IGNORED) || str_eq(w.digest, digest)))
			return true;
	}
	return false;
}

/* An archive arrives after its TrainJob, so that none is deleted before its job exists. */
void backend_sweep_archives(struct backend *b)
{
	cleanup_arena struct arena a = { 0 };
	const char *dir = path_join(&a, b->server, WORKSPACE_STORE);
	char **digests = state_entries(&a, dir);
	cleanup_json cJSON *jobs = NULL;

	if (!*digests)
		return;
	jobs = apiserver_list(b->conf.api, TRAINER_API_VERSION, TRAINJOB_KIND, NULL);
	for (; *digests; digests++)
		if (!is_wanted(jobs, *digests))
			(void)!dir_remove(path_join(&a, dir, *digests), IGNORED);
}
