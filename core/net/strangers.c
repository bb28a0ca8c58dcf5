/* strangers.c - counts connections by a keyed hash of their addresses. */
#include "net/strangers.h"

#include "base/random.h"

uint64_t address_hash(const char *address, uint64_t key)
{
	uint64_t hash = key;

	for (int colons = 0; *address && colons < 4; address++) {
		colons += *address == ':' && address[1] == ':' ? 4 : *address == ':';
		hash = (hash ^ (uint8_t)*address) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return hash;
}

int strangers_init(struct strangers *s, struct error *err)
{
	*s = (struct strangers){ 0 };
	return random_bytes(&s->key, sizeof(s->key), err);
}

static uint64_t place_of(const struct strangers *s, const char *peer)
{
	return address_hash(peer, s->key) % STRANGERS_PLACES;
}

void strangers_add(struct strangers *s, const char *peer)
{
	s->of[place_of(s, peer)]++;
	s->n++;
}

void strangers_remove(struct strangers *s, const char *peer)
{
	s->of[place_of(s, peer)]--;
	s->n--;
}

int strangers_of(const struct strangers *s, const char *peer)
{
	return s->of[place_of(s, peer)];
}
