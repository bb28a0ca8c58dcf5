/*
 * snapshots.h - a cache of runtime snapshots, shared by all TrainJobs of a runtime.
 */
#ifndef MANAGER_SNAPSHOTS_H
#define MANAGER_SNAPSHOTS_H

#include <pthread.h>

#include "base/map.h"
#include "crypto/digest.h"
#include "trainer/snapshot.h"

struct snapshots {
	pthread_mutex_t lock;
	struct map map; /* "uid version" of a runtime -> snapshot_text(); oldest first */
};

void snapshots_init(struct snapshots *s);
void snapshots_release(struct snapshots *s);
/* As snapshot_make(), but from the cache if it has that version. Thread-safe. */
MUST_CHECK int snapshots_make(struct snapshots *s, cJSON **ret, const cJSON *tj,
			      const cJSON *runtime, struct error *err);
/* The SHA-256 of a snapshot's text (NULL: none), in hex. */
void snapshots_digest(const char *text, char ret[DIGEST_HEX_SIZE]);
/* The same; the text is in the cache then. Thread-safe. */
void snapshots_hold(struct snapshots *s, const char *text, char ret[DIGEST_HEX_SIZE]);
/* The snapshot with that SHA-256, the caller's; NULL: not in the cache. Thread-safe. */
cJSON *snapshots_of_digest(struct snapshots *s, const cJSON *tj, const char *digest);

#endif
