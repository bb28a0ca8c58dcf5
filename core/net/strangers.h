/*
 * strangers.h - how many connections of each address wait to be authenticated, so that a
 * flood from one ends its own: of the address with the most, the oldest.
 *
 * Addresses are counted by a keyed hash; of IPv6, only the first four groups count, or
 * those before "::". Two addresses may share a count, but no peer can choose which.
 */
#ifndef NET_STRANGERS_H
#define NET_STRANGERS_H

#include <stdint.h>

#include "base/error.h"

enum { STRANGERS_PLACES = 1024, STRANGERS_ACCEPTED = 64 /* in a turn of a loop */ };

struct strangers {
	uint64_t key;
	int n; /* of all addresses */
	int of[STRANGERS_PLACES];
};

uint64_t address_hash(const char *address, uint64_t key);

MUST_CHECK int strangers_init(struct strangers *s, struct error *err);
void strangers_add(struct strangers *s, const char *peer);
void strangers_remove(struct strangers *s, const char *peer);
int strangers_of(const struct strangers *s, const char *peer);

#endif
