/* preauth.c - counts connections by a keyed hash of their addresses. */
#include "net/preauth.h"

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

int preauth_init(struct preauth *s, struct error *err)
{
	*s = (struct preauth){ 0 };
	return random_bytes(&s->key, sizeof(s->key), err);
}

static uint64_t slot_of(const struct preauth *s, const char *peer)
{
	return address_hash(peer, s->key) % PREAUTH_SLOTS;
}

void preauth_add(struct preauth *s, const char *peer)
{
	s->count[slot_of(s, peer)]++;
	s->n++;
}

void preauth_remove(struct preauth *s, const char *peer)
{
	s->count[slot_of(s, peer)]--;
	s->n--;
}

int preauth_count(const struct preauth *s, const char *peer)
{
	return s->count[slot_of(s, peer)];
}
