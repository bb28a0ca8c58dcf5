/* A hash table that keeps the order of insertion: map.h. */
#include "base/map.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/xmalloc.h"

enum { FIRST_CAP = 8, GONE = 0xffffffff };

static uint64_t secret[2];
static pthread_once_t secret_once = PTHREAD_ONCE_INIT;

/* A kernel that is out of entropy this early gives a hash without a secret. */
static void make_secret(void)
{
	if (getrandom(secret, sizeof(secret), GRND_NONBLOCK) < 0)
		secret[0] = (uintptr_t)&secret;
}

static uint64_t rotate(uint64_t v, int by)
{
	return v << by | v >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

/* SipHash-1-3, Aumasson and Bernstein, on a little-endian machine. */
static uint64_t hash(const char *key)
{
	uint64_t v[4], word;
	size_t len = strlen(key), left = len;

	pthread_once(&secret_once, make_secret);
	v[0] = secret[0] ^ 0x736f6d6570736575;
	v[1] = secret[1] ^ 0x646f72616e646f6d;
	v[2] = secret[0] ^ 0x6c7967656e657261;
	v[3] = secret[1] ^ 0x7465646279746573;
	for (bool more = true; more; key += 8, left -= 8) {
		more = left >= 8;
		word = more ? 0 : (uint64_t)len << 56;
		memcpy(&word, key, more ? 8 : left);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
		if (!more)
			break;
	}
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The slot that holds the key, or the free one where it belongs. */
static size_t slot_of(const struct map *map, const char *key)
{
	size_t mask = map->cap * 2 - 1, i = hash(key) & mask;

	for (; map->slots[i]; i = (i + 1) & mask) {
		const char *candidate;

		if (map->slots[i] == GONE)
			continue;
		candidate = map->entries[map->slots[i] - 1].key;
		if (!strcmp(candidate, key))
			break;
	}
	return i;
}

/* Room for one more: without the holes, and larger when it is nearly full. */
static void rebuild(struct map *map)
{
	struct map_entry *old = map->entries;
	size_t used = map->used;

	map->cap = FIRST_CAP;
	while (map->cap < map->n * 2)
		map->cap *= 2;
	free(map->slots);
	map->slots = xcalloc(map->cap * 2, sizeof(*map->slots));
	map->entries = xcalloc(map->cap, sizeof(*map->entries));
	map->used = 0;
	for (size_t i = 0; i < used; i++) {
		if (!old[i].key)
			continue;
		map->entries[map->used++] = old[i];
		map->slots[slot_of(map, old[i].key)] = (uint32_t)map->used;
	}
	free(old);
}

void *map_get(const struct map *map, const char *key)
{
	size_t slot;

	if (!map->n)
		return NULL;
	slot = slot_of(map, key);
	return map->slots[slot] ? map->entries[map->slots[slot] - 1].value : NULL;
}

void *map_put(struct map *map, const char *key, void *value)
{
	struct map_entry *entry;
	void *before;
	size_t slot;

	if (map->used == map->cap)
		rebuild(map);
	slot = slot_of(map, key);
	if (map->slots[slot]) {
		entry = &map->entries[map->slots[slot] - 1];
		before = entry->value;
		entry->value = value;
		return before;
	}
	map->entries[map->used++] = (struct map_entry){ xstrdup(key), value };
	map->slots[slot] = (uint32_t)map->used;
	map->n++;
	return NULL;
}

void *map_del(struct map *map, const char *key)
{
	struct map_entry *entry;
	void *value;
	size_t slot;

	if (!map->n)
		return NULL;
	slot = slot_of(map, key);
	if (!map->slots[slot])
		return NULL;
	entry = &map->entries[map->slots[slot] - 1];
	value = entry->value;
	free(entry->key);
	*entry = (struct map_entry){ 0 };
	map->slots[slot] = GONE;
	map->n--;
	return value;
}

struct map_entry *map_next(const struct map *map, const struct map_entry *after)
{
	size_t i = after ? (size_t)(after - map->entries) + 1 : 0;

	for (; i < map->used; i++)
		if (map->entries[i].key)
			return &map->entries[i];
	return NULL;
}

void map_release(struct map *map, void (*free_value)(void *))
{
	for (size_t i = 0; i < map->used; i++) {
		if (map->entries[i].key && free_value)
			free_value(map->entries[i].value);
		free(map->entries[i].key);
	}
	free(map->entries);
	free(map->slots);
	*map = (struct map){ 0 };
}
