/* job_memory.c - record the controller's own writes (manager/job_memory.h). */
#include "manager/job_memory.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/xmalloc.h"

void job_memories_init(struct job_memories *n)
{
	*n = (struct job_memories){ 0 };
	pthread_mutex_init(&n->lock, NULL);
}

static void clear(struct job_memory *memory)
{
	free(memory->uid);
	free(memory->counted.runtime);
	free(memory->secret.name);
	cJSON_Delete(memory->ended);
}

static void free_memory(void *p)
{
	clear(p);
	free(p);
}

void job_memories_release(struct job_memories *n)
{
	map_release(&n->map, free_memory);
	pthread_mutex_destroy(&n->lock);
}

/* Under the lock. */
static struct job_memory *find_or_make(struct job_memories *n, const char *key)
{
	struct job_memory *memory = map_get(&n->map, key);

	if (!memory) {
		memory = xcalloc(1, sizeof(*memory));
		map_put(&n->map, key, memory);
	}
	return memory;
}

struct job_memory *job_memory_of(struct job_memories *n, const char *key)
{
	struct job_memory *memory;

	pthread_mutex_lock(&n->lock);
	memory = find_or_make(n, key);
	pthread_mutex_unlock(&n->lock);
	return memory;
}

void job_memory_reset(struct job_memories *n, struct job_memory *memory, const char *uid)
{
	cJSON *ended;

	pthread_mutex_lock(&n->lock);
	ended = STEAL(memory->ended); /* perhaps of a TrainJob without a pass yet */
	clear(memory);
	*memory = (struct job_memory){ .uid = uid ? xstrdup(uid) : NULL, .ended = ended };
	pthread_mutex_unlock(&n->lock);
}

/* A token bucket: one more is let through each OTHERS_MS. */
static int64_t let_through(struct job_memory *memory, int64_t now)
{
	int64_t full = (memory->full_ms > now ? memory->full_ms : now) + OTHERS_MS;

	if (full - now > OTHERS_BURST * OTHERS_MS)
		return OTHERS_MS;
	memory->full_ms = full;
	return 0;
}

int64_t job_memory_changed(struct job_memories *n, const char *key, int64_t now)
{
	struct job_memory *memory;
	int64_t wait_ms = 0;

	pthread_mutex_lock(&n->lock);
	memory = map_get(&n->map, key);
	if (memory) {
		memory->foreign_changes++;
		wait_ms = let_through(memory, now);
	}
	pthread_mutex_unlock(&n->lock);
	return wait_ms;
}

bool job_memory_pod_waits(struct job_memories *n, const char *key)
{
	struct job_memory *memory;
	bool ret;

	pthread_mutex_lock(&n->lock);
	memory = map_get(&n->map, key);
	ret = memory && memory->secret.name;
	if (ret)
		memory->secret.pod_waits = true;
	pthread_mutex_unlock(&n->lock);
	return ret;
}

bool job_memory_is_own(struct job_memories *n, const char *key, uint64_t version)
{
	const struct job_memory *memory;
	bool ret;

	pthread_mutex_lock(&n->lock);
	memory = map_get(&n->map, key);
	ret = memory && !memory->stale_passes && version &&
	      memory->written.trainjob_version == version;
	pthread_mutex_unlock(&n->lock);
	return ret;
}

void job_memory_jobset_gone(struct job_memories *n, const char *key, const cJSON *ended)
{
	struct job_memory *memory;

	pthread_mutex_lock(&n->lock);
	memory = ended ? find_or_make(n, key) : map_get(&n->map, key);
	if (memory) {
		cJSON_Delete(memory->ended);
		memory->ended = json_dup(ended);
		memory->jobset_gone = true;
	}
	pthread_mutex_unlock(&n->lock);
}

cJSON *job_memory_ended(struct job_memories *n, const struct job_memory *memory,
			const cJSON *tj)
{
	cJSON *ret = NULL;

	pthread_mutex_lock(&n->lock);
	if (memory->ended && meta_is_controlled(memory->ended, tj))
		ret = json_dup(memory->ended);
	pthread_mutex_unlock(&n->lock);
	return ret;
}

void job_memory_forget_end(struct job_memories *n, struct job_memory *memory)
{
	pthread_mutex_lock(&n->lock);
	cJSON_Delete(STEAL(memory->ended));
	pthread_mutex_unlock(&n->lock);
}

void job_memory_set_secret(struct job_memories *n, struct job_memory *memory,
			   const char *name)
{
	pthread_mutex_lock(&n->lock);
	free(memory->secret.name);
	memory->secret.name = xstrdup(name);
	pthread_mutex_unlock(&n->lock);
	memory->secret.checked_ms = clock_ms();
}

void job_memory_drop(struct job_memories *n, const char *key)
{
	struct job_memory *memory;

	pthread_mutex_lock(&n->lock);
	memory = map_del(&n->map, key);
	pthread_mutex_unlock(&n->lock);
	if (memory)
		free_memory(memory);
}
