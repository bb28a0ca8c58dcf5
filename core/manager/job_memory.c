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
	struct job_memory *note = p;

	free(note->uid);
	free(note->counted.runtime);
	free(note->secret.name);
	free(note);
}

void job_memories_release(struct job_memories *n)
{
	map_release(&n->map, free_note);
	pthread_mutex_destroy(&n->lock);
}

struct job_memory *job_memory_of(struct job_memories *n, const char *key)
{
	struct job_memory *note;

	pthread_mutex_lock(&n->lock);
	note = map_get(&n->map, key);
	if (!note) {
		note = xcalloc(1, sizeof(*note));
		map_put(&n->map, key, note);
	}
	pthread_mutex_unlock(&n->lock);
	return note;
}

void job_memory_reset(struct job_memories *n, struct job_memory *note, const char *uid)
{
	pthread_mutex_lock(&n->lock);
	free(note->uid);
	free(note->counted.runtime);
	free(note->secret.name);
	*note = (struct job_memory){ .uid = uid ? xstrdup(uid) : NULL };
	pthread_mutex_unlock(&n->lock);
}

bool job_memory_mark_dirty(struct job_memories *n, const char *key, bool pod_waits)
{
	struct job_memory *note;
	bool ret;

	pthread_mutex_lock(&n->lock);
	note = map_get(&n->map, key);
	ret = note && (!pod_waits || note->secret.name);
	if (ret && pod_waits)
		note->secret.pod_waits = true;
	else if (ret)
		note->foreign_changes++;
	pthread_mutex_unlock(&n->lock);
	return ret;
}

bool job_memory_is_own(struct job_memories *n, const char *key, uint64_t version)
{
	const struct job_memory *note;
	bool ret;

	pthread_mutex_lock(&n->lock);
	note = map_get(&n->map, key);
	ret = note && !note->stale_passes && version &&
	      note->written.trainjob_version == version;
	pthread_mutex_unlock(&n->lock);
	return ret;
}

void job_memory_set_secret(struct job_memories *n, struct job_memory *note,
			   const char *name)
{
	pthread_mutex_lock(&n->lock);
	free(note->secret.name);
	note->secret.name = xstrdup(name);
	pthread_mutex_unlock(&n->lock);
	note->secret.checked_ms = clock_ms();
}

void job_memory_drop(struct job_memories *n, const char *key)
{
	struct job_memory *note;

	pthread_mutex_lock(&n->lock);
	note = map_del(&n->map, key);
	pthread_mutex_unlock(&n->lock);
	if (note)
		free_note(note);
}
