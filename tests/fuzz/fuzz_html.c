/*
 * Text from outside as HTML: a "<" or a quote is in a tag of ours alone, spans are closed, and a header opens
 * the gate only with its key.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"
#include "ui/form.h"
#include "ui/gate.h"
#include "ui/html.h"

enum { MAX_BYTES = 1 << 14 };

/* Only "<span class=\"...\">" and "</span>", in turn. */
static void check_spans(const struct buf *out)
{
	static const char begin[] = "<span class=\"", end[] = "</span>";
	const char *p = out->data ? (const char *)out->data : "", *last = p + out->len;
	bool open = false;

	while (p < last) {
		size_t left = (size_t)(last - p);

		if (left >= sizeof(end) - 1 && !memcmp(p, end, sizeof(end) - 1)) {
			FUZZ_CHECK(open);
			open = false;
			p += sizeof(end) - 1;
		} else if (left >= sizeof(begin) - 1 &&
			   !memcmp(p, begin, sizeof(begin) - 1)) {
			FUZZ_CHECK(!open);
			open = true;
			p += sizeof(begin) - 1;
			p += strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789 ");
			FUZZ_CHECK(p + 1 < last && p[0] == '"' && p[1] == '>');
			p += 2;
		} else {
			FUZZ_CHECK(!strchr("<>\"'", *p) && *p);
			p++;
		}
	}
	FUZZ_CHECK(!open);
}

static void check_gate(const char *text)
{
	static struct gate gate;
	struct httpd_header h[] = { { "Host", "localhost:1" },
				    { "Cookie", text },
				    { 0 } };
	const struct httpd_request req = {
		.method = "GET", .path = "/", .query = text, .headers = h
	};
	const char *why;

	if (!gate.port && gate_init(&gate, &(struct error){ 0 }))
		return;
	gate.port = 1;
	FUZZ_CHECK(gate_check(&gate, &req, &why) == GATE_REFUSED);
	h[0].value = text;
	FUZZ_CHECK(gate_check(&gate, &req, &why) == GATE_REFUSED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf text = { .max = 16 * MAX_BYTES },
			       line = { .max = 64 * MAX_BYTES };

	if (size > MAX_BYTES)
		return 0;
	html_text(&text, (const char *)data, size);
	html_line(&line, (const char *)data, size);
	for (size_t i = 0; i < text.len; i++)
		FUZZ_CHECK(!strchr("<>\"'", text.data[i]));
	check_spans(&line);
	check_gate(str_slice(&arena, (const char *)data, size));
	form_value(&arena, str_slice(&arena, (const char *)data, size), "q");
	return 0;
}
