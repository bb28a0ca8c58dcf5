/*
 * legacy.h - the pods of a run of kftrainer 0.1.0, which published no objects
 * (state_owned.h), made from its JobSet and the names of its logs.
 */
#ifndef MACHINE_LEGACY_H
#define MACHINE_LEGACY_H

#include "machine/published.h"

/*
 * Put a pod for each directory in logs/. `ended`: the run has ended. How each container
 * ended is not stored: only the TrainJob says whether all succeeded.
 */
void legacy_read_run(struct published_run *r, bool ended,
		     const struct published_sink *to);

#endif
