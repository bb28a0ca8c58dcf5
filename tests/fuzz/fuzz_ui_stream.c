/*
 * What a stream of the page is asked for: names are valid, lists and numbers within their limits, and the id of an
 * event that was sent is read as it was.
 */
#include <inttypes.h>
#include <string.h>

#include "api/names.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"
#include "ui/stream_query.h"

enum { MAX_BYTES = 1 << 14 };

static void check_query(const struct stream_query *w)
{
	size_t n = 0;

	if (w->job)
		FUZZ_CHECK(!name_label_invalid(w->ns) && !name_subdomain_invalid(w->job));
	FUZZ_CHECK(!w->lines || w->job);
	FUZZ_CHECK(w->lines >= 0 && w->lines <= STREAM_LINES);
	for (; w->plots && w->plots[n]; n++)
		FUZZ_CHECK(!strpbrk(w->plots[n], "<>\"'\\ \n"));
	FUZZ_CHECK(n <= STREAM_PLOTS);
}

static void check_id(struct arena *arena, const struct stream_event_id *id)
{
	struct stream_event_id again;
	const char *text = arena_printf(arena, "%" PRIu64 ".%" PRIu64 ".%" PRIu64,
					id->version, id->tail, id->line);

	FUZZ_CHECK(stream_event_id_read(&again, arena, text));
	FUZZ_CHECK(again.version == id->version && again.tail == id->tail &&
		   again.line == id->line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	const char *text =
		size > MAX_BYTES ? "" : str_slice(&arena, (const char *)data, size);
	struct httpd_header h[] = { { "Last-Event-ID", text }, { 0 } };
	const struct httpd_request with = { .method = "GET",
					    .path = "/stream",
					    .query = "job=a/b&log=*",
					    .headers = h },
				   plain = { .method = "GET",
					     .path = "/stream",
					     .query = text,
					     .headers = h + 1 };
	struct stream_query w = stream_query_read(&arena, &with);

	check_query(&w);
	check_id(&arena, &w.id);
	w = stream_query_read(&arena, &plain);
	check_query(&w);
	check_id(&arena, &w.id);
	return 0;
}
