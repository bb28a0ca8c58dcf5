/* Remembers the controller's own writes: notes.h. */
#include "manager/notes.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"

#define HASH_PRIME 0x100000001b3

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
	ret = note && (!pod_waits || note->secret.exists);
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

void note_set_secret(struct note *note, const char *name)
{
	free(note->secret.name);
	note->secret.name = xstrdup(name);
	note->secret.checked_ms = clock_ms();
	note->secret.exists = true;
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

uint64_t note_hash(uint64_t hash, const char *text)
{
	if (!hash)
		hash = 0xcbf29ce484222325;
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * HASH_PRIME;
	return hash ? hash : 1;
}

/* Kind and name stand before each value, a 0 byte after each text: no two look alike. */
uint64_t note_hash_doc(uint64_t hash, const cJSON *doc)
{
	char number[JSON_MAX_NUMBER + 1];
	const cJSON *child;

	if (!doc)
		return note_hash(hash, "null") * HASH_PRIME;
	hash = (hash ^ (unsigned)(doc->type & 0xff)) * HASH_PRIME;
	if (doc->string)
		hash = note_hash(hash, doc->string) * HASH_PRIME;
	if (cJSON_IsNumber(doc))
		return note_hash(hash, json_number_text(doc, number)) * HASH_PRIME;
	if (doc->valuestring)
		return note_hash(hash, doc->valuestring) * HASH_PRIME;
	json_each(child, doc)
		hash = note_hash_doc(hash, child);
	return note_hash(hash * HASH_PRIME, "");
}

uint64_t version_number(const cJSON *obj)
{
	const char *text = meta_version(obj);
	struct error not_a_number = { 0 };
	int64_t n;

	if (!text || str_int(&n, text, 0, INT64_MAX, &not_a_number))
		return 0;
	return (uint64_t)n;
}
