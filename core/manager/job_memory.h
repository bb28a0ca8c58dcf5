/*
 * job_memory.h - this process's record of its own writes, one entry per TrainJob.
 *
 * With an entry, no pass acts on objects older than our own writes, and no object is
 * written twice unchanged. Without it, the next pass makes more API calls; its result is
 * the same.
 */
#ifndef MANAGER_JOB_MEMORY_H
#define MANAGER_JOB_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/json.h"
#include "base/map.h"
#include "crypto/digest.h"
#include "manager/count_limit.h"
#include "trainer/runtime.h"

struct last_write {
	uint64_t hash;      /* of the object that we sent; 0: none yet */
	int64_t generation; /* metadata.generation in the API server's answer */
};

/* Our last writes for one TrainJob; times are clock_ms(), 0: none yet. */
struct job_writes {
	/* resourceVersions. A pass waits until the informers have these or later ones. */
	atomic_ullong trainjob_version;
	/* The write of a status had no answer, or met another's: read the live TrainJob. */
	bool status_unsure;
	uint64_t jobset_version;
	int64_t jobset_ms;
	struct count_bucket status;
	struct last_write jobset, podgroup;
	char snapshot[DIGEST_HEX_SIZE]; /* the runtime snapshot's SHA-256; "": unknown */
	uint64_t inputs_hash; /* of the last complete pass; 0: do not skip the next */
};

/* The Secret among a TrainJob's objects. Secrets are not watched. */
struct job_secret {
	char *name; /* NULL: none; written under job_memories.lock */
	int64_t checked_ms;
	atomic_bool pod_waits; /* set by any thread, under job_memories.lock */
};

/* When a pass first saw a time of the TrainJob: clock_now(), clock_up_ms(). */
struct time_seen {
	int64_t now, up_ms; /* up_ms 0: not yet */
};

/*
 * Used without the lock by the one thread that has the key. Other threads use only the
 * atomics, and the members that name the lock.
 */
struct job_memory {
	char *uid; /* of the TrainJob; written under job_memories.lock */
	struct job_writes written;
	struct job_secret secret;
	struct {
		char *runtime; /* NULL: not counted */
		const char *state;
	} counted; /* the labels under which trainer_trainjobs counts the TrainJob */
	/* The apiVersion of PodGroups from watches_lack_groups(); NULL: none missing. */
	const char *missing_group;
	struct run_policy policy; /* the runtime's, of the snapshot */
	int64_t restarts;         /* of the JobSet when the status was last written */
	bool policy_known, restarts_known;
	struct time_seen start_seen, end_seen; /* of the deadline, of the TTL */
	bool expired;            /* the TrainJob was deleted after its TTL */
	bool objects_tried;      /* a pass has tried to write the objects */
	atomic_int stale_passes; /* in a row: the watch or an object was out of date */
	atomic_uint foreign_changes; /* by others to our objects; under the lock */
	int64_t full_ms; /* when OTHERS_BURST of them are let through; under the lock */
	/* The JobSet, if it had ended when it was deleted; or NULL; under the lock. */
	cJSON *ended;
	atomic_bool
		jobset_gone; /* the watch has delivered a deletion since our last write */
};

enum { OTHERS_BURST = 20, OTHERS_MS = 1000 };

struct job_memories {
	pthread_mutex_t lock;
	struct map map; /* "ns/name" -> struct job_memory */
};

void job_memories_init(struct job_memories *n);
void job_memories_release(struct job_memories *n);

/*
 * The entry of that key, created if needed; never NULL. Owned by `n` and valid until
 * job_memory_drop(). Only one thread at a time may use a key (workqueue.h).
 */
struct job_memory *job_memory_of(struct job_memories *n, const char *key);
/* Empties the entry for the TrainJob with that uid. Call reconciler_uncount_state() first. */
void job_memory_reset(struct job_memories *n, struct job_memory *memory, const char *uid);
/* Removes and frees the entry, if there is one. Call reconciler_uncount_state() first. */
void job_memory_drop(struct job_memories *n, const char *key);

/*
 * From any thread: the next pass writes objects that others changed or deleted. The ms to
 * wait for it: 0, or, if others (a policy that changes each write, a second controller) do
 * so again and again, OTHERS_MS. now: clock_ms().
 */
int64_t job_memory_changed(struct job_memories *n, const char *key, int64_t now);
/*
 * From any thread: the next pass checks the Secret that a pod waits for. False: the
 * TrainJob has no entry or no Secret, so that no pass is needed.
 */
bool job_memory_pod_waits(struct job_memories *n, const char *key);
/*
 * From any thread. True: that resourceVersion of the TrainJob is our last write of its
 * status, and no pass waits for the watch to deliver it.
 */
bool job_memory_is_own(struct job_memories *n, const char *key, uint64_t version);
/*
 * From any thread: the JobSet of the TrainJob was deleted (by its TTL, by a user), perhaps
 * before a pass could see its end. `ended` (copied): as it was; NULL: it had not ended.
 */
void job_memory_jobset_gone(struct job_memories *n, const char *key, const cJSON *ended);
/* A copy of that JobSet, the caller's, if it had ended and `tj` controlled it; else NULL. */
cJSON *job_memory_ended(struct job_memories *n, const struct job_memory *memory,
			const cJSON *tj);
void job_memory_forget_end(struct job_memories *n, struct job_memory *memory);
/* The TrainJob has the Secret `name` (copied), which was checked now. */
void job_memory_set_secret(struct job_memories *n, struct job_memory *memory,
			   const char *name);

#endif
