/* jwt.c - makes and verifies JSON Web Tokens (crypto/jwt.h). */
#include "crypto/jwt.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "crypto/sign.h"

#define BASE64URL "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
#define HEAD      "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"

enum { MAX_TOKEN = 64 * 1024 };

void jwt_make(struct buf *out, const char *key, const cJSON *claims)
{
	cleanup_buf struct buf text = { .max = MAX_TOKEN }, token = { .max = MAX_TOKEN };
	unsigned char mac[SIGN_SHA256_SIZE];

	json_print(&text, claims);
	base64url_encode(&token, HEAD, strlen(HEAD));
	buf_adds(&token, ".");
	base64url_encode(&token, text.data, text.len);
	buf_add(out, token.data, token.len);
	buf_adds(out, ".");
	sign_hmac(key, strlen(key), token.data, token.len, mac);
	base64url_encode(out, mac, sizeof(mac));
}

/* Verify the signature, which follows the first len bytes of a token and ".". */
static bool is_signed(const char *key, const char *token, size_t len)
{
	cleanup_buf struct buf have = { .max = SIGN_SHA256_SIZE };
	unsigned char want[SIGN_SHA256_SIZE];

	sign_hmac(key, strlen(key), token, len, want);
	return !base64url_decode(&have, token + len + 1, strlen(token) - len - 1,
				 IGNORED) &&
	       have.len == sizeof(want) && sign_equal(have.data, want);
}

/* Decode a part, len bytes of base64url, to its JSON object; NULL: invalid. */
static cJSON *read_part(const char *part, size_t len)
{
	cleanup_buf struct buf text = { .max = MAX_TOKEN };
	cJSON *ret = NULL;

	if (base64url_decode(&text, part, len, IGNORED) ||
	    json_parse(&ret, text.data, text.len, IGNORED))
		return NULL;
	if (cJSON_IsObject(ret))
		return ret;
	cJSON_Delete(ret);
	return NULL;
}

/* Find the two dots between the three parts. */
static bool find_parts(const char *token, const char **ret_middle, const char **ret_last)
{
	*ret_middle = strchr(token, '.');
	*ret_last = *ret_middle ? strchr(*ret_middle + 1, '.') : NULL;
	return *ret_last && !strchr(*ret_last + 1, '.') && strlen(token) <= MAX_TOKEN;
}

static cJSON *read_claims(const char *middle, const char *last)
{
	return read_part(middle + 1, (size_t)(last - middle) - 1);
}

cJSON *jwt_read(const char *key, const char *token)
{
	const char *middle, *last;

	if (!find_parts(token, &middle, &last) ||
	    !is_signed(key, token, (size_t)(last - token)))
		return NULL;
	return read_claims(middle, last);
}

cJSON *jwt_unverified(const char *token)
{
	const char *middle, *last, *alg;
	cleanup_json cJSON *head = NULL;

	if (!find_parts(token, &middle, &last) || !last[1] ||
	    last[1 + strspn(last + 1, BASE64URL)])
		return NULL;
	head = read_part(token, (size_t)(middle - token));
	alg = json_str(head, "alg");
	if (!alg || !strcasecmp(alg, "none"))
		return NULL;
	return read_claims(middle, last);
}
