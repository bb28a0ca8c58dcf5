/*
 * map.h - from strings to pointers.
 *
 * Open addressing over a list that keeps the order in which keys came, so that
 * walking a map is never random. Keys are copied; values are the caller's, and
 * none is NULL. `{ 0 }` is an empty map. The hash is keyed with a secret of the
 * process (SipHash-1-3): chosen names cannot make it slow.
 *
 *     map_each(e, &map)
 *             use(e->key, e->value);
 *
 * The current entry may be deleted while walking; adding is not allowed.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
	char *key;   /* NULL: deleted */
	void *value; /* never NULL in a live entry */
};

struct map {
	struct map_entry *entries; /* in order of arrival, with holes */
	uint32_t *slots;           /* index into entries, plus 1; 0 is free */
	size_t n;                  /* live entries */
	size_t used;               /* entries, holes counted */
	size_t cap;                /* of entries; there are twice as many slots */
};

void *map_get(const struct map *map, const char *key); /* NULL: not there */

/* Returns the value that was there before, or NULL. A key keeps its place. */
void *map_put(struct map *map, const char *key, void *value);

/* Returns what was there, or NULL. `key` may be that of the entry. */
void *map_del(struct map *map, const char *key);

struct map_entry *map_next(const struct map *map, const struct map_entry *after);
#define map_each(e, map) \
	for (struct map_entry *e = map_next((map), NULL); e; e = map_next((map), e))

/* free_value may be NULL. The map is empty afterwards and ready for use. */
void map_release(struct map *map, void (*free_value)(void *));

static inline void cleanup_mapp(struct map *map)
{
	map_release(map, NULL);
}
#define cleanup_map __attribute__((cleanup(cleanup_mapp)))

#endif
