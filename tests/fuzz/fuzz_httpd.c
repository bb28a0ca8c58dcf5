/*
 * Requests from a hostile peer: what is read does not depend on how the bytes were
 * cut up, strings lie within them and hold nothing that could end a line, and of two
 * readers of the body none sees another end.
 */
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "net/httpd_parse.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_BODY = 4096 };

/* Where the head ends, or the status; the bytes come `step` at a time. */
static int find(const char *data, size_t size, size_t step, size_t *ret_end)
{
	size_t scanned = 0, len = 0;
	int status = 0;

	*ret_end = 0;
	while (len < size && !status && !*ret_end) {
		len += step < size - len ? step : size - len;
		status = httpd_find_head(data, len, &scanned, ret_end);
		FUZZ_CHECK(scanned <= len && *ret_end <= len);
	}
	return status;
}

static void check_text(const char *text, const char *data, size_t end)
{
	FUZZ_CHECK(!*text || (text >= data && text + strlen(text) < data + end));
	for (; *text; text++)
		FUZZ_CHECK(*text == '\t' || (unsigned char)*text >= ' ');
}

static void check_head(const struct httpd_head *head, const char *data, size_t end)
{
	size_t lengths = 0, codings = 0, i = 0;

	FUZZ_CHECK(head->req.path[0] == '/' || !strcmp(head->req.path, "*"));
	check_text(head->req.method, data, end);
	check_text(head->req.path, data, end);
	check_text(head->req.query, data, end);
	for (const struct httpd_header *h = head->req.headers; h->name; h++, i++) {
		check_text(h->name, data, end);
		check_text(h->value, data, end);
		FUZZ_CHECK(h->name[0] && !strpbrk(h->name, " \t:"));
		lengths += !strcasecmp(h->name, "Content-Length");
		codings += !strcasecmp(h->name, "Transfer-Encoding");
	}
	FUZZ_CHECK(i == head->n_headers && lengths + codings <= 1);
	FUZZ_CHECK(head->chunked == (codings == 1));
	FUZZ_CHECK(head->chunked ? head->req.content_length == -1
				 : head->req.content_length >= 0);
}

/* Chunks in pieces of `step`: the status, what was used, and the body. */
static int chunks(const char *data, size_t size, size_t step, size_t *ret_used,
		  struct buf *body)
{
	struct httpd_chunks c = { 0 };
	size_t at = 0;
	int status = 0;

	while (at < size && !status && c.state != CHUNK_DONE) {
		size_t n = step < size - at ? step : size - at, used = 0;

		status = httpd_chunks_add(&c, data + at, n, &used, body);
		FUZZ_CHECK(used <= n && (status || used == n || c.state == CHUNK_DONE));
		at += used;
	}
	*ret_used = at;
	if (!status)
		FUZZ_CHECK(c.state == CHUNK_DONE || at == size);
	return status;
}

static void check_chunks(const char *data, size_t size)
{
	static const size_t steps[] = { 1, 2, 3, 7, 64 };
	cleanup_buf struct buf whole = { .max = MAX_BODY };
	size_t used = 0;
	int status = chunks(data, size, size + 1, &used, &whole);

	for (size_t i = 0; i < N_ELEMENTS(steps); i++) {
		cleanup_buf struct buf body = { .max = MAX_BODY };
		size_t other = 0;

		FUZZ_CHECK(chunks(data, size, steps[i], &other, &body) == status);
		if (status)
			continue;
		FUZZ_CHECK(other == used && body.len == whole.len);
		FUZZ_CHECK(!body.len || !memcmp(body.data, whole.data, body.len));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	size_t end = 0, other = 0;
	int status = find(text, size, size + 1, &end);

	check_chunks(text, size);
	/* Which of two faults is met first may depend on the pieces; that there is one
	 * or none does not. */
	FUZZ_CHECK(!find(text, size, 1, &other) == !status && other == end);
	if (!status && end) {
		/* No byte behind the head may count: the copy ends there. */
		cleanup_free char *copy = xmalloc(end);
		struct httpd_head head;

		memcpy(copy, text, end);
		if (!httpd_parse_head(&head, copy, end))
			check_head(&head, copy, end);
		check_chunks(text + end, size - end);
	}
	return 0;
}
