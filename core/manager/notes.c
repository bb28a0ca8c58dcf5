/* Remembers the controller's own writes: notes.h. */
#include "manager/notes.h"

#include "base/clock.h"
#include "base/xmalloc.h"

void notes_init(struct notes *n)
{
	*n = (struct notes){ 0 };
	pthread_mutex_init(&n->lock, NULL);
}

static void free_note(void *p)
{
	struct note *note = p;

	free(note->uid);
	free(note->counted.runtime);
	free(note->secret.name);
	free(note);
}

void notes_release(struct notes *n)
{
	map_release(&n->map, free_note);
	pthread_mutex_destroy(&n->lock);
}

struct note *note_of(struct notes *n, const char *key)
{
	struct note *note;

	pthread_mutex_lock(&n->lock);
	note = map_get(&n->map, key);
	if (!note) {
		note = xcalloc(1, sizeof(*note));
		map_put(&n->map, key, note);
	}
	pthread_mutex_unlock(&n->lock);
	return note;
}

void note_reset(struct notes *n, struct note *note, const char *uid)
{
	pthread_mutex_lock(&n->lock);
	free(note->uid);
	free(note->counted.runtime);
	free(note->secret.name);
	*note = (struct note){ .uid = uid ? xstrdup(uid) : NULL };
	pthread_mutex_unlock(&n->lock);
}

bool notes_notice(struct notes *n, const char *key, bool pod_waits)
{
	struct note *note;
	bool ret;

	pthread_mutex_lock(&n->lock);
	note = map_get(&n->map, key);
	ret = note && (!pod_waits || note->secret.name);
	if (ret && pod_waits)
		note->secret.pod_waits = true;
	else if (ret)
		note->damage++;
	pthread_mutex_unlock(&n->lock);
	return ret;
}

bool notes_is_own(struct notes *n, const char *key, uint64_t version)
{
	const struct note *note;
	bool ret;

	pthread_mutex_lock(&n->lock);
	note = map_get(&n->map, key);
	ret = note && !note->early_passes && version &&
	      note->written.trainjob_version == version;
	pthread_mutex_unlock(&n->lock);
	return ret;
}

void note_set_secret(struct notes *n, struct note *note, const char *name)
{
	pthread_mutex_lock(&n->lock);
	free(note->secret.name);
	note->secret.name = xstrdup(name);
	pthread_mutex_unlock(&n->lock);
	note->secret.checked_ms = clock_ms();
}

void note_drop(struct notes *n, const char *key)
{
	struct note *note;

	pthread_mutex_lock(&n->lock);
	note = map_del(&n->map, key);
	pthread_mutex_unlock(&n->lock);
	if (note)
		free_note(note);
}
