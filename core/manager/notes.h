/*
 * notes.h - what this process remembers of its own writes, one note per TrainJob.
 *
 * With it no pass acts on objects older than our own writes, and no object is written
 * twice unchanged. Losing a note costs calls, never correctness.
 */
#ifndef MANAGER_NOTES_H
#define MANAGER_NOTES_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/json.h"
#include "base/map.h"
#include "manager/count_limit.h"
#include "net/digest.h"

struct sent {
	uint64_t hash;      /* of what we sent; 0: nothing yet */
	int64_t generation; /* what it was answered with */
};

/* Of our last writes; times are clock_ms(), 0: none yet. */
struct note_written {
	atomic_ullong trainjob_version; /* the informers must show these */
	uint64_t jobset_version;
	int64_t jobset_ms;
	struct count_bucket status;
	struct sent jobset, podgroup;
	char snapshot[DIGEST_HEX_SIZE]; /* the runtime snapshot's; "": not known */
	uint64_t inputs_hash; /* of what the last whole pass depended on; 0: repeat it */
};

/* A Secret among its objects: secrets are not watched. */
struct note_secret {
	char *name; /* NULL: none; changed under notes.lock */
	int64_t checked_ms;
	atomic_bool pod_waits; /* set by any thread, under notes.lock */
};

struct note {
	char *uid; /* of the TrainJob */
	struct note_written written;
	struct note_secret secret;
	struct {
		char *runtime; /* NULL: not counted */
		const char *state;
	} counted; /* in the gauge */
	/* PodGroups that the API server lacks: watches_groups(); NULL: none. */
	const char *missing_group;
	bool objects_tried;      /* a pass has tried to write them */
	atomic_int early_passes; /* that found the past, one after the other */
	atomic_uint damage; /* counts objects that others changed; under notes.lock */
};

struct notes {
	pthread_mutex_t lock;
	struct map map; /* "ns/name" -> struct note */
};

void notes_init(struct notes *n);
void notes_release(struct notes *n);

/*
 * The note of that key, created if needed. It lives until note_drop(); one thread at a
 * time uses a key.
 */
struct note *note_of(struct notes *n, const char *key);
void note_reset(struct notes *n, struct note *note, const char *uid);
void note_drop(struct notes *n, const char *key);

/*
 * From any thread: the next pass repairs what somebody changed of that TrainJob's objects,
 * or creates the Secret that its pod waits for. False: no pass is needed.
 */
bool notes_notice(struct notes *n, const char *key, bool pod_waits);
/* Is that version of the TrainJob our own write, which no pass waits for? */
bool notes_is_own(struct notes *n, const char *key, uint64_t version);
void note_set_secret(struct notes *n, struct note *note, const char *name);

#endif
