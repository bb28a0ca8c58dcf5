/*
 * state.h - what local jobs leave behind: $XDG_STATE_HOME/kftrainer/, or
 * ~/.local/state/kftrainer/.
 *
 *     <state>/jobs/<namespace>/<name>/<run>/   one folder a run, run = time + number
 *         trainjob.json    the TrainJob with status, rewritten atomically
 *         objects.json     what the pipeline made
 *         logs/<pod>/<container>.log   lines as the process wrote them
 *         lock             held while it runs (flock); stale: the run was killed
 *     <state>/jobs/<namespace>/<name>/latest -> <run>
 *
 * Folders are 0700, files 0600. Readers never need the running process.
 */
#ifndef LOCAL_STATE_H
#define LOCAL_STATE_H

#include "base/json.h"

struct state_run; /* an open run: of this process, or one that ended */

/* All jobs, newest run of each, as TrainJob documents with status (a JSON array). */
MUST_CHECK int state_list(cJSON **ret, const char *ns, struct error *err); /* ns NULL: all */

/* One job's newest run. ERR_NOT_FOUND says which names there are near it. */
MUST_CHECK int state_get(cJSON **ret_trainjob, const char *ns, const char *name,
			 struct error *err);

/*
 * Its log files: a JSON array of {pod, container, step, rank, path}, in the
 * order of jobs, ranks and containers.
 */
MUST_CHECK int state_logs(cJSON **ret, const char *ns, const char *name,
			  struct error *err);

/* Does it run now? */
bool state_is_running(const char *ns, const char *name);

#endif
