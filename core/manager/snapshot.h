/*
 * snapshot.h - the runtime as it was when the TrainJob was created (KEP-2599).
 *
 * A ConfigMap "<TrainJob>-runtime-snapshot", owned by the TrainJob, has the runtime
 * under the key "runtime" as YAML: apiVersion, kind, metadata, spec. Upstream's
 * pkg/runtime/core/snapshot.go reads ours, and we read what it wrote (managedFields,
 * nulls and quoting of sigs.k8s.io/yaml included). Written once: later changes of the
 * runtime affect later TrainJobs only.
 */
#ifndef MANAGER_SNAPSHOT_H
#define MANAGER_SNAPSHOT_H

#include <pthread.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/map.h"

const char *snapshot_name(struct arena *arena, const cJSON *tj);

/* The ConfigMap to write; the caller's. ERR_LIMIT: the runtime does not fit. */
MUST_CHECK int snapshot_make(cJSON **ret, const cJSON *tj, const cJSON *runtime,
			     struct error *err);

/* Recently written texts, for the many TrainJobs of one runtime. */
struct snapshots {
	pthread_mutex_t lock;
	struct map map; /* uid -> struct text (snapshot.c) */
};

void snapshots_init(struct snapshots *s);
void snapshots_release(struct snapshots *s);
/* As snapshot_make(). */
MUST_CHECK int snapshots_make(struct snapshots *s, cJSON **ret, const cJSON *tj,
			      const cJSON *runtime, struct error *err);

/*
 * The runtime in it; the caller's. ERR_INVALID "invalid runtime snapshot: ...": another
 * object owns it, it does not parse, or it holds another runtime than the TrainJob's. The
 * live runtime is no substitute.
 */
MUST_CHECK int snapshot_read(cJSON **ret, const cJSON *tj, const cJSON *configmap,
			     struct error *err);

#endif
