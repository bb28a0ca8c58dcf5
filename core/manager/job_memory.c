/* job_memory.c - record the controller's own writes (manager/job_memory.h). */
#include "manager/job_memory.h"

#include "base/clock.h"
#include "base/xmalloc.h"

void job_memories_init(struct job_memories *n)
{
	*n = (struct job_memories){ 0 };
	pthread_mutex_init(&n->lock, NULL);
}

static void free_note(void *p)
{
	struct job_memory *memory = p;

	free(memory->uid);
	free(memory->counted.runtime);
	free(memory->secret.name);
	free(memory);
}

void job_memories_release(struct job_memories *n)
{
	map_release(&n->map, free_note);
	pthread_mutex_destroy(&n->lock);
}

struct job_memory *job_memory_of(struct job_memories *n, const char *key)
{
	struct job_memory *memory;

	pthread_mutex_lock(&n->lock);
	memory = map_get(&n->map, key);
	if (!memory) {
		memory = xcalloc(1, sizeof(*memory));
		map_put(&n->map, key, memory);
	}
	pthread_mutex_unlock(&n->lock);
	return memory;
}

void job_memory_reset(struct job_memories *n, struct job_memory *memory, const char *uid)
{
	pthread_mutex_lock(&n->lock);
	free(memory->uid);
	free(memory->counted.runtime);
	free(memory->secret.name);
	*memory = (struct job_memory){ .uid = uid ? xstrdup(uid) : NULL };
	pthread_mutex_unlock(&n->lock);
}

bool job_memory_mark_dirty(struct job_memories *n, const char *key, bool pod_waits)
{
	struct job_memory *memory;
	bool ret;

	pthread_mutex_lock(&n->lock);
	memory = map_get(&n->map, key);
	ret = memory && (!pod_waits || memory->secret.name);
	if (ret && pod_waits)
		memory->secret.pod_waits = true;
	else if (ret)
		memory->foreign_changes++;
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
		free_note(memory);
}
