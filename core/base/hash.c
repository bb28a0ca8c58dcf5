/* FNV-1a of texts and of JSON: hash.h. */
#include "base/hash.h"

#define HASH_PRIME 0x100000001b3

uint64_t hash_text(uint64_t hash, const char *text)
{
	if (!hash)
		hash = 0xcbf29ce484222325;
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * HASH_PRIME;
	return hash ? hash : 1;
}

/* Kind and name stand before each value, a 0 byte after each text: no two look alike. */
uint64_t hash_json(uint64_t hash, const cJSON *doc)
{
	char number[JSON_MAX_NUMBER + 1];
	const cJSON *child;

	if (!doc)
		return hash_text(hash, "null") * HASH_PRIME;
	hash = (hash ^ (unsigned)(doc->type & 0xff)) * HASH_PRIME;
	if (doc->string)
		hash = hash_text(hash, doc->string) * HASH_PRIME;
	if (cJSON_IsNumber(doc))
		return hash_text(hash, json_number_text(doc, number)) * HASH_PRIME;
	if (doc->valuestring)
		return hash_text(hash, doc->valuestring) * HASH_PRIME;
	json_each(child, doc)
		hash = hash_json(hash, child);
	return hash_text(hash * HASH_PRIME, "");
}
