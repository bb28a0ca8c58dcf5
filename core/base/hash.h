/*
 * hash.h - 64 bits that tell whether a text or a document has changed (FNV-1a).
 *
 * Not against an adversary. Each goes on from `hash` (0: a new one), and is never 0.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

#include "base/json.h"

uint64_t hash_text(uint64_t hash, const char *text);
uint64_t hash_json(uint64_t hash, const cJSON *doc); /* in the order of its members */

#endif
