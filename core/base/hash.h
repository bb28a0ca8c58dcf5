/*
 * hash.h - 64-bit hashes to detect changes of a text or a document (FNV-1a).
 *
 * Not secure against an adversary. Each continues from `hash` (0: a new one); the result
 * is never 0.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

#include "base/json.h"

uint64_t hash_text(uint64_t hash, const char *text);
uint64_t hash_json(uint64_t hash, const cJSON *doc); /* in the order of its members */

#endif
