/* Makes and verifies JSON Web Tokens: jwt.h. */
#include "net/jwt.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "net/sign.h"

#define HEAD "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"

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

/* Sign the first len bytes of a token, which "." and the signature follow. */
static bool is_signed(const char *key, const char *token, size_t len)
{
	cleanup_buf struct buf have = { .max = SIGN_SHA256_SIZE };
	unsigned char want[SIGN_SHA256_SIZE];
	struct error none = { 0 };

	sign_hmac(key, strlen(key), token, len, want);
	return !base64url_decode(&have, token + len + 1, strlen(token) - len - 1,
				 &none) &&
	       have.len == sizeof(want) && sign_equal(have.data, want);
}

cJSON *jwt_read(const char *key, const char *token)
{
	const char *middle = strchr(token, '.'), *last = strrchr(token, '.');
	cleanup_buf struct buf text = { .max = MAX_TOKEN };
	struct error none = { 0 };
	cJSON *claims = NULL;

	if (!middle || middle == last || strlen(token) > MAX_TOKEN ||
	    !is_signed(key, token, (size_t)(last - token)))
		return NULL;
	if (base64url_decode(&text, middle + 1, (size_t)(last - middle) - 1, &none) ||
	    json_parse(&claims, text.data, text.len, &none))
		return NULL;
	return claims;
}
