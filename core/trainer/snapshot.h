/*
 * snapshot.h - the runtime as it was when the TrainJob was created (KEP-2599).
 *
 * A ConfigMap "<TrainJob>-runtime-snapshot", owned by the TrainJob, has the runtime
 * under the key "runtime" as YAML: apiVersion, kind, metadata, spec. Upstream's
 * pkg/runtime/core/snapshot.go reads ours, and we read what it wrote (managedFields,
 * nulls and quoting of sigs.k8s.io/yaml included). Written once: later changes of the
 * runtime affect later TrainJobs only.
 */
#ifndef TRAINER_SNAPSHOT_H
#define TRAINER_SNAPSHOT_H

#include "base/arena.h"
#include "base/json.h"

/* The name of the ConfigMap. */
const char *snapshot_name(struct arena *arena, const cJSON *tj);

/* The ConfigMap to write; the caller's. ERR_LIMIT: the runtime does not fit. */
MUST_CHECK int snapshot_make(cJSON **ret, const cJSON *tj, const cJSON *runtime,
			     struct error *err);

/* The runtime's YAML in the ConfigMap; NULL: none. */
const char *snapshot_text(const cJSON *configmap);
/* The ConfigMap of `tj` with that text, as snapshot_make() returns it; the caller's. */
cJSON *snapshot_of_text(const cJSON *tj, const char *text);

/*
 * The runtime in the ConfigMap; the caller's. ERR_INVALID "invalid runtime snapshot:
 * ...": another object owns the ConfigMap, or the text does not parse, or is another
 * runtime than the TrainJob's. Callers must not use the live runtime instead.
 */
MUST_CHECK int snapshot_read(cJSON **ret, const cJSON *tj, const cJSON *configmap,
			     struct error *err);

#endif
