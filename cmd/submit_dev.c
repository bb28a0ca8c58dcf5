/* submit_dev.c - complete the options of submit --dev (cmd/submit_dev.h). */
#include "cmd/submit_dev.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { IDLE_MS = 30 * 60 * 1000 };

int submit_dev(struct job_opts *job, struct workspace_opts *w, int64_t idle_ms,
	       struct arena *arena, struct error *err)
{
	cleanup_free char *path = NULL;
	const char *from;

	if (!w->dev)
		return idle_ms ? error_set(err, ERR_USAGE, "--idle requires --dev") : 0;
	if (w->dir && job->script)
		return error_set(err, ERR_USAGE,
				 "--dev takes a script or --workspace DIR, not both: use "
				 "-- COMMAND");
	if (job->script)
		w->dir = job->script;
	if (!w->dir)
		return error_set(err, ERR_USAGE,
				 "--dev requires --workspace DIR, or a script");
	path = realpath(w->dir, NULL);
	if (!path)
		return error_set(err, ERR_INVALID, "--workspace %s: %s", w->dir,
				 strerror(errno));
	/* DEV_FROM_ANNOTATION: the path, then those of --include, a line each. */
	from = arena_strdup(arena, path);
	for (size_t i = 0; i < w->include.n; i++)
		from = arena_printf(arena, "%s\n%s", from, w->include.list[i]);
	job->dev_from = from;
	job->idle_ms = idle_ms ? idle_ms : IDLE_MS;
	return 0;
}
