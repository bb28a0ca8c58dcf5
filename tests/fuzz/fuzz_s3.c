/*
 * What an S3 server or STS answers: a page of a listing, a refusal, any XML. Keys come
 * back from their escaped form, entries are whole, texts hold nothing a terminal obeys.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cloud/aws_error.h"
#include "cloud/xml.h"
#include "store/s3_list.h"
#include "store/s3_object.h"
#include "tests/fuzz/fuzz.h"

struct seen {
	size_t ends, roots;
};

/* Line breaks around a text are removed with their indentation; blanks are kept. */
static void check_ends(const char *text)
{
	size_t begin = strspn(text, " \t\r\n"), end = strlen(text);

	while (end > begin && strchr(" \t\r\n", text[end - 1]))
		end--;
	FUZZ_CHECK(!memchr(text, '\n', begin) && !strchr(text + end, '\n'));
}

static int on_end(void *ctx, const char *path, const char *text, struct error *err)
{
	struct seen *seen = ctx;
	size_t depth = 0;

	for (const char *p = path; *p; p++)
		depth += *p == '/';
	FUZZ_CHECK(depth < XML_MAX_DEPTH);
	FUZZ_CHECK(strlen(text) <= XML_MAX_TEXT && utf8_valid(text, strlen(text)));
	check_ends(text);
	FUZZ_CHECK(!seen->roots); /* the root ends last */
	seen->roots += !*path;
	seen->ends++;
	return 0;
}

static void check_shown(const char *text)
{
	for (; *text; text++)
		FUZZ_CHECK(*text == '\t' ||
			   ((unsigned char)*text >= ' ' && *text != 0x7f));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf body = { .max = size + 1 };
	struct seen seen = { 0 };
	const struct xml_reader reader = { on_end, &seen };
	struct s3_page page = { 0 };
	struct error err = { 0 };
	struct aws_error e;
	int rc = xml_read(data, size, &reader, &err);

	FUZZ_CHECK(!rc == !err.kind && (rc || seen.roots == 1));
	err = (struct error){ 0 };
	if (!s3_page_read(&page, &arena, data, size, &err)) {
		FUZZ_CHECK(!rc && page.n <= page.cap);
		for (size_t i = 0; i < page.n; i++)
			FUZZ_CHECK(page.entries[i].key && page.entries[i].etag &&
				   page.entries[i].size >= 0 &&
				   s3_etag_parts(page.entries[i].etag) >= -1);
	}
	buf_add(&body, data, size);
	e = aws_error_read(&arena, &body);
	FUZZ_CHECK(e.code && e.message && (!rc || (!*e.code && !*e.message)));
	check_shown(e.code);
	check_shown(e.message);
	return 0;
}
