/*
 * preauth.h - count the connections of each address that are not authenticated yet.
 *
 * When there are too many, the caller ends the oldest one of the address with the most, so
 * that a flood from one address does not end connections of others.
 *
 * Addresses are counted by a keyed hash; of IPv6, only the first four groups count, or
 * those before "::". Two addresses may share a count, but no peer can choose which.
 */
#ifndef NET_PREAUTH_H
#define NET_PREAUTH_H

#include <stdint.h>

#include "base/error.h"

enum {
	PREAUTH_SLOTS = 1024,
	PREAUTH_ACCEPT_BATCH = 64 /* connections to accept in one turn of an event loop */
};

struct preauth {
	uint64_t key;
	int n; /* of all addresses */
	int count[PREAUTH_SLOTS];
};

uint64_t address_hash(const char *address, uint64_t key);

MUST_CHECK int preauth_init(struct preauth *s, struct error *err);
void preauth_add(struct preauth *s, const char *peer);
void preauth_remove(struct preauth *s, const char *peer);
int preauth_count(const struct preauth *s, const char *peer);

#endif
