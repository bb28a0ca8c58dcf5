/*
 * snapshots.h - the snapshots written last, for the many TrainJobs of one runtime.
 */
#ifndef MANAGER_SNAPSHOTS_H
#define MANAGER_SNAPSHOTS_H

#include <pthread.h>

#include "base/map.h"
#include "trainer/snapshot.h"

struct snapshots {
	pthread_mutex_t lock;
	struct map map; /* "uid version" of a runtime -> its text; the oldest first */
};

void snapshots_init(struct snapshots *s);
void snapshots_release(struct snapshots *s);
/* As snapshot_make(). */
MUST_CHECK int snapshots_make(struct snapshots *s, cJSON **ret, const cJSON *tj,
			      const cJSON *runtime, struct error *err);

#endif
