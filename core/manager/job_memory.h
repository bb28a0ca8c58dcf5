/*
 * job_memory.h - what this process remembers of its own writes, one note per TrainJob.
 *
 * With it no pass acts on objects older than our own writes, and no object is written
 * twice unchanged. Losing a note costs calls, never correctness.
 */
#ifndef MANAGER_JOB_MEMORY_H
#define MANAGER_JOB_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/json.h"
#include "base/map.h"
#include "manager/count_limit.h"
#include "net/digest.h"

struct last_write {
	uint64_t hash;      /* of what we sent; 0: nothing yet */
	int64_t generation; /* what it was answered with */
};

/* Of our last writes; times are clock_ms(), 0: none yet. */
struct job_writes {
	atomic_ullong trainjob_version; /* the informers must show these */
	uint64_t jobset_version;
	int64_t jobset_ms;
	struct count_bucket status;
	struct last_write jobset, podgroup;
	char snapshot[DIGEST_HEX_SIZE]; /* the runtime snapshot's; "": not known */
	uint64_t inputs_hash; /* of what the last whole pass depended on; 0: repeat it */
};

/* A Secret among its objects: secrets are not watched. */
struct job_secret {
	char *name; /* NULL: none; changed under notes.lock */
	int64_t checked_ms;
	atomic_bool pod_waits; /* set by any thread, under notes.lock */
};

struct job_memory {
	char *uid; /* of the TrainJob */
	struct job_writes written;
	struct job_secret secret;
	struct {
		char *runtime; /* NULL: not counted */
		const char *state;
	} counted; /* in the gauge */
	/* PodGroups that the API server lacks: watches_groups(); NULL: none. */
	const char *missing_group;
	bool objects_tried;      /* a pass has tried to write them */
	atomic_int stale_passes; /* that found the past, one after the other */
	atomic_uint
		foreign_changes; /* counts objects that others changed; under notes.lock */
};

struct job_memories {
	pthread_mutex_t lock;
	struct map map; /* "ns/name" -> struct job_memory */
};

void job_memories_init(struct job_memories *n);
void job_memories_release(struct job_memories *n);

/*
 * The note of that key, created if needed. It lives until job_memory_drop(); one thread at a
 * time uses a key.
 */
struct job_memory *job_memory_of(struct job_memories *n, const char *key);
void job_memory_reset(struct job_memories *n, struct job_memory *note, const char *uid);
void job_memory_drop(struct job_memories *n, const char *key);

/*
 * From any thread: the next pass repairs what somebody changed of that TrainJob's objects,
 * or creates the Secret that its pod waits for. False: no pass is needed.
 */
bool job_memory_mark_dirty(struct job_memories *n, const char *key, bool pod_waits);
/* Is that version of the TrainJob our own write, which no pass waits for? */
bool job_memory_is_own(struct job_memories *n, const char *key, uint64_t version);
void job_memory_set_secret(struct job_memories *n, struct job_memory *note,
			   const char *name);

#endif
