/*
 * notes.h - what this process remembers of its own writes, a note a TrainJob.
 *
 * The informers show what we wrote some time later. Until then a pass would act upon
 * the past: a note says how new their objects must be. It also has the hashes of what
 * was written last, so that nothing is written twice. Losing a note costs calls,
 * never correctness.
 */
#ifndef MANAGER_NOTES_H
#define MANAGER_NOTES_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/json.h"
#include "base/map.h"

struct written {
	uint64_t hash;      /* of what we sent; 0: nothing yet */
	int64_t generation; /* what it was answered with */
};

struct note {
	char *uid;               /* of the TrainJob */
	uint64_t tj_version;     /* the informer must show at least these */
	uint64_t jobset_version; /* 0: we wrote none */
	int64_t jobset_since;    /* clock_ms() of that write */
	int64_t status_at;       /* clock_ms() of our last write; 0: none */
	struct written jobset, podgroup;
	uint64_t pass;     /* note_hash() of what the last whole pass saw */
	char *secret;      /* one of its objects; NULL: none is */
	int64_t secret_at; /* clock_ms() of when that was looked for */
	int soon;          /* tries that came too early, one after the other */
	bool known;        /* objects have been written, or tried */
	char *runtime;     /* as counted in the gauge; NULL: not counted */
	const char *state;
	/* Of any thread, under notes.lock: */
	atomic_uint lost; /* counts what it wrote and somebody changed */
	atomic_bool has_secret, secret_due;
};

struct notes {
	pthread_mutex_t lock;
	struct map map; /* "ns/name" -> struct note */
};

void notes_init(struct notes *n);
void notes_release(struct notes *n);

/*
 * The note of that key, made when there is none and emptied when it is of another uid.
 * It stays until note_drop(); one key is used by one thread at a time.
 */
struct note *note_of(struct notes *n, const char *key);
void note_reset(struct notes *n, struct note *note, const char *uid);
void note_drop(struct notes *n, const char *key);
bool notes_notice(struct notes *n, const char *key, bool pod_waits);
void note_secret(struct note *note, const char *name);

/* FNV-1a; goes on from `hash` (0: a new one). Never 0. */
uint64_t note_hash(uint64_t hash, const char *text);
uint64_t note_hash_doc(uint64_t hash, const cJSON *doc);

/* A resourceVersion as a number; 0 when it is none. */
uint64_t version_number(const cJSON *obj);

#endif
