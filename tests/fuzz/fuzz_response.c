/*
 * An HTTP response of a hostile server, byte for byte, through libcurl: what is read from
 * its headers is within limits, no line break gets into a field or a message.
 */
#include "base/cleanup.h"
#include "base/str.h"
#include "net/redirect.h"
#include "store/hf_tree.h"
#include "store/reply.h"
#include "tests/fuzz/answers.h"

enum { MAX_BODY = 64 * 1024, MAX_WARNINGS = 32 };

struct seen {
	struct arena arena;
	struct reply reply;
	const char *link;
};

static int on_header(void *ctx, int status, const char *name, const char *value,
		     struct error *err)
{
	struct seen *s = ctx;

	FUZZ_CHECK(status >= 200 && !strchr(name, ':') && !strpbrk(value, "\r\n"));
	if (!strcasecmp(name, "Link"))
		s->link = arena_strdup(&s->arena, value);
	return reply_header(&s->reply, &s->arena, status, name, value, err);
}

static void check_reply(struct seen *s)
{
	const struct reply *r = &s->reply;
	const char *next = s->link ? hf_tree_next(&s->arena, s->link) : NULL;

	FUZZ_CHECK(r->from >= -1 && r->to >= -1 && r->total >= -1 && r->length >= -1);
	FUZZ_CHECK(!r->etag || reply_same_tag(r->etag, r->etag));
	FUZZ_CHECK(!r->etag || !strpbrk(r->etag, " \t\r\n"));
	FUZZ_CHECK(!next || strstr(s->link, next));
}

static void check_response(const struct http_response *r, const char *url)
{
	cleanup_arena struct arena arena = { 0 };
	struct redirect at = { .arena = &arena, .url = url };
	struct error err = { 0 };
	size_t n = 0;
	bool again;

	FUZZ_CHECK(r->status >= 100 && r->status <= 999 && r->body.len <= MAX_BODY);
	FUZZ_CHECK(r->retry_after_ms >= -1);
	FUZZ_CHECK(retry_pause(0, r->retry_after_ms) <= RETRY_LONGEST_MS);
	for (char **w = r->warnings; w && *w; w++, n++)
		FUZZ_CHECK(!strpbrk(*w, "\r\n"));
	FUZZ_CHECK(n <= MAX_WARNINGS);
	FUZZ_CHECK(!r->content_type || !strpbrk(r->content_type, "; \t\r\n"));
	FUZZ_CHECK(!r->location || !strpbrk(r->location, "\r\n"));
	if (redirect_follow(&at, r, &again, &err))
		FUZZ_CHECK(err.kind && !strpbrk(err.msg, "\r\n\033"));
	else
		FUZZ_CHECK(!strpbrk(at.url, "\r\n"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct http_conf conf = { .proxy = "", .http1 = true, .max_idle = 1 };
	cleanup_http_response struct http_response response = { 0 };
	struct seen seen = { .reply = REPLY_NONE };
	static struct http_client *client;
	struct error err = { 0 };
	char url[64];
	struct http_request req = { .method = "GET",
				    .url = url,
				    .timeout_ms = 10000,
				    .max_body = MAX_BODY,
				    .on_header = on_header,
				    .ctx = &seen };

	if (!client)
		FUZZ_CHECK(!http_client_new(&client, &conf, &err));
	answers_start();
	answers_are(data, size, true);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/a", answers.port);
	if (http_do(client, &req, &response, &err)) {
		FUZZ_CHECK(err.kind && *err.msg && !strpbrk(err.msg, "\r\n\033"));
	} else {
		check_response(&response, url);
		check_reply(&seen);
	}
	answers_are(NULL, 0, true);
	arena_clear(&seen.arena);
	return 0;
}
