/*
 * cache_objects.h - the data cache that upstream's dataset initializer creates for
 * cache://SCHEMA/TABLE: a ServiceAccount and a LeaderWorkerSet "<TrainJob>-cache" and a
 * Service "<TrainJob>-cache-service", which the TrainJob controls. Pure.
 *
 * Follows upstream's pkg/initializers/dataset/cache.py and its variables, byte for byte
 * but for this: IAM_ROLE may be absent, and the TrainJob's spec.initializer.dataset
 * .secretRef, if it has one, gives its variables to the pods of the cache.
 */
#ifndef CLIENT_CACHE_OBJECTS_H
#define CLIENT_CACHE_OBJECTS_H

#include "base/arena.h"
#include "base/json.h"

#define LWS_API_VERSION "leaderworkerset.x-k8s.io/v1"
#define LWS_KIND        "LeaderWorkerSet"
#define LWS_NAME_LABEL  "leaderworkerset.sigs.k8s.io/name" /* on its pods */

enum { CACHE_HEAD, CACHE_WORKER, N_CACHE_ROLES };

struct cache_settings {
	const char *schema, *table;
	const char *job, *image, *location;
	const char *iam_role; /* NULL: none */
	int64_t size;         /* pods, including the head */
	const char *cpu[N_CACHE_ROLES], *memory[N_CACHE_ROLES];
	int64_t delay, period, timeout, failures; /* of the readiness probe */
	int64_t deadline_ms;                      /* CACHE_TIMEOUT */
};

/*
 * Read the settings from the URI and the environment; env() returns NULL for a variable
 * that is unset or empty. Strings are the environment's or in the arena. ERR_INVALID
 * names the URI or the variable.
 */
MUST_CHECK int cache_settings_read(struct cache_settings *ret, struct arena *arena,
				   const char *uri,
				   const char *(*env)(void *ctx, const char *name),
				   void *ctx, struct error *err);

/* The objects, an array in the order of upstream's requests, owned by the caller. */
cJSON *cache_objects(const struct cache_settings *settings, const cJSON *trainjob);

/* Is the condition Available true? */
bool cache_lws_available(const cJSON *lws);
/*
 * The message of the condition Progressing, in the arena; a hint if there are no
 * conditions at all; otherwise "".
 */
const char *cache_lws_progress(struct arena *arena, const cJSON *lws);

#endif
