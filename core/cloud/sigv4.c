/* Signs requests for AWS; see sigv4.h. */
#include "cloud/sigv4.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "crypto/sign.h"
#include "net/http.h"

#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

enum { MAX_HEADERS = 32, MAX_PARAMETERS = 32, HEX_SIZE = 2 * SIGN_SHA256_SIZE + 1 };
#define MAX_TEXT ((size_t)1024 * 1024)

static int by_name(const void *a, const void *b)
{
	const struct sigv4_pair *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->value, y->value);
}

static const char *escaped(struct arena *arena, const char *s)
{
	cleanup_buf struct buf b = { .max = MAX_TEXT };

	http_escape(&b, s);
	return arena_strdup(arena, b.data ? (const char *)b.data : "");
}

const char *sigv4_query(struct arena *arena, const struct sigv4_pair *pairs)
{
	struct sigv4_pair sorted[MAX_PARAMETERS];
	const char *parts[MAX_PARAMETERS + 1] = { 0 };
	size_t n = 0;

	for (; pairs && pairs->name && n < MAX_PARAMETERS; pairs++, n++) {
		sorted[n].name = escaped(arena, pairs->name);
		sorted[n].value = escaped(arena, pairs->value);
	}
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (size_t i = 0; i < n; i++)
		parts[i] = arena_printf(arena, "%s=%s", sorted[i].name, sorted[i].value);
	return str_join(arena, parts, "&");
}

struct signing {
	struct arena *arena;
	const struct sigv4_request *r;
	struct sigv4_pair headers[MAX_HEADERS + 1]; /* all signed headers */
	size_t n;
	char date[17]; /* 20150830T123600Z */
};

static void add(struct signing *s, const char *name, const char *value)
{
	if (value && s->n < MAX_HEADERS)
		s->headers[s->n++] = (struct sigv4_pair){ name, value };
}

/* "2015-08-30T12:36:00Z" without punctuation. */
static void basic_date(char ret[17], int64_t now)
{
	char text[TIME_TEXT_SIZE];
	size_t n = 0;

	for (const char *p = time_text(now, text); *p && n < 16; p++)
		if (*p != '-' && *p != ':')
			ret[n++] = *p;
	ret[n] = 0;
}

static const char *hex(char ret[HEX_SIZE], const unsigned char hash[SIGN_SHA256_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < SIGN_SHA256_SIZE; i++) {
		ret[2 * i] = digits[hash[i] >> 4];
		ret[2 * i + 1] = digits[hash[i] & 15];
	}
	ret[HEX_SIZE - 1] = 0;
	return ret;
}

/* A header's value, trimmed, with white space folded to one blank. */
static void add_value(struct buf *b, const char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	for (; *s; s++) {
		if (*s != ' ' && *s != '\t')
			buf_add(b, s, 1);
		else if (s[1] && s[1] != ' ' && s[1] != '\t')
			buf_adds(b, " ");
	}
}

static const char *signed_names(const struct signing *s)
{
	const char *names[MAX_HEADERS + 1] = { 0 };

	for (size_t i = 0; i < s->n; i++)
		names[i] = s->headers[i].name;
	return str_join(s->arena, names, ";");
}

static const char *payload_of(const struct sigv4_request *r)
{
	return r->payload ? r->payload : EMPTY_SHA256;
}

/* The hash of the canonical request. */
static void canonical(const struct signing *s, const char *names, char ret[HEX_SIZE])
{
	cleanup_buf struct buf b = { .max = MAX_TEXT };
	unsigned char hash[SIGN_SHA256_SIZE];

	buf_printf(&b, "%s\n%s\n%s\n", s->r->method, s->r->path, s->r->query);
	for (size_t i = 0; i < s->n; i++) {
		buf_printf(&b, "%s:", s->headers[i].name);
		add_value(&b, s->headers[i].value);
		buf_adds(&b, "\n");
	}
	buf_printf(&b, "\n%s\n%s", names, payload_of(s->r));
	sign_sha256(b.data, b.len, hash);
	hex(ret, hash);
}

static void hmac_text(unsigned char key[SIGN_SHA256_SIZE], const char *text)
{
	sign_hmac(key, SIGN_SHA256_SIZE, text, strlen(text), key);
}

static const char *authorization(const struct signing *s, const struct sigv4_key *key)
{
	const char *names = signed_names(s), *scope, *start, *text;
	char request[HEX_SIZE], signature[HEX_SIZE];
	unsigned char k[SIGN_SHA256_SIZE];

	scope = arena_printf(s->arena, "%.8s/%s/%s/aws4_request", s->date, s->r->region,
			     s->r->service);
	canonical(s, names, request);
	text = arena_printf(s->arena, "AWS4-HMAC-SHA256\n%s\n%s\n%s", s->date, scope,
			    request);
	start = arena_printf(s->arena, "AWS4%s", key->secret);
	sign_hmac(start, strlen(start), s->date, 8, k);
	hmac_text(k, s->r->region);
	hmac_text(k, s->r->service);
	hmac_text(k, "aws4_request");
	hmac_text(k, text);
	return arena_printf(s->arena,
			    "Authorization: AWS4-HMAC-SHA256 Credential=%s/%s, "
			    "SignedHeaders=%s, Signature=%s",
			    key->access, scope, names, hex(signature, k));
}

const char *const *sigv4_sign(struct arena *arena, const struct sigv4_request *r,
			      const struct sigv4_key *key)
{
	const char **ret = arena_alloc(arena, (MAX_HEADERS + 2) * sizeof(*ret));
	struct signing s = { .arena = arena, .r = r };
	size_t n = 0;

	for (const struct sigv4_pair *h = r->headers; h && h->name; h++)
		add(&s, h->name, h->value);
	if (key) {
		basic_date(s.date, r->now);
		add(&s, "x-amz-date", s.date);
		if (!strcmp(r->service, "s3"))
			add(&s, "x-amz-content-sha256", payload_of(r));
		add(&s, "x-amz-security-token", key->token);
	}
	for (size_t i = 0; i < s.n; i++)
		ret[n++] = arena_printf(arena, "%s: %s", s.headers[i].name,
					s.headers[i].value);
	if (!key)
		return ret;
	add(&s, "host", r->host);
	qsort(s.headers, s.n, sizeof(*s.headers), by_name);
	ret[n] = authorization(&s, key);
	return ret;
}
