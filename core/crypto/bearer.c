/* bearer.c - reads and compares tokens of Authorization headers (crypto/bearer.h). */
#include "crypto/bearer.h"

#include <string.h>
#include <strings.h>

#include <mbedtls/constant_time.h>

#include "base/str.h"

#define SPACE " \t"

/* The token in `text`, *len bytes; NULL: none. */
static const char *find_token(const char *text, size_t *len)
{
	size_t scheme;

	if (!text)
		return NULL;
	text += strspn(text, SPACE);
	scheme = strcspn(text, SPACE);
	if (scheme != strlen("Bearer") || strncasecmp(text, "Bearer", scheme) != 0)
		return NULL;
	text += scheme;
	text += strspn(text, SPACE);
	*len = strcspn(text, SPACE);
	return *len && !text[*len + strspn(text + *len, SPACE)] ? text : NULL;
}

const char *bearer_token(struct arena *arena, const char *authorization)
{
	size_t len = 0;
	const char *found = find_token(authorization, &len);

	return found ? str_slice(arena, found, len) : NULL;
}

bool bearer_is(const char *authorization, const char *token)
{
	size_t len = 0;
	const char *found = find_token(authorization, &len);

	return found && len == strlen(token) && !mbedtls_ct_memcmp(found, token, len);
}
