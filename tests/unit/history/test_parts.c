/* test_parts.c - names of parts, and the last report. */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "history/history_impl.h"
#include "tests/unit/base/base_test.h"

TEST(test_names_of_parts)
{
	static const struct {
		const char *file, *kind, *ending;
		int64_t want; /* -1: not such a name */
	} rows[] = {
		{ "events.jsonl", "events", ".jsonl", 0 },
		{ "events.1.jsonl", "events", ".jsonl", 1 },
		{ "events.12.jsonl", "events", ".jsonl", 12 },
		{ "metrics.jsonl", "events", ".jsonl", -1 },
		{ "events.jsonl.tmp", "events", ".jsonl", -1 },
		{ "events.0.jsonl", "events", ".jsonl", -1 },
		{ "events.-1.jsonl", "events", ".jsonl", -1 },
		{ "events.x.jsonl", "events", ".jsonl", -1 },
		{ "events..jsonl", "events", ".jsonl", -1 },
		{ "events.99999999999999999999.jsonl", "events", ".jsonl", -1 },
		{ "events", "events", ".jsonl", -1 },
		{ "", "events", ".jsonl", -1 },
		{ "0.log.zst", "0", ".log.zst", 0 },
		{ "0.3.log.zst", "0", ".log.zst", 3 },
		{ "10.log.zst", "1", ".log.zst", -1 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		int64_t n = -1;
		bool ok = history_number(rows[i].file, rows[i].kind, rows[i].ending, &n);

		assert_int_equal(ok ? n : -1, rows[i].want);
	}
}

TEST(test_the_last_report)
{
	static const struct {
		const char *text;
		int64_t want; /* -1: none */
	} rows[] = {
		{ "", -1 },
		{ "\n\n", -1 },
		{ "{\"n\": 1}\n", 1 },
		{ "{\"n\": 1}\n{\"n\": 2}\n", 2 },
		{ "{\"n\": 1}\n{\"n\": 2", 1 }, /* a copy was cut off */
		{ "{\"n\": 1}\n[3]\nnull\n", 1 },
		{ "not JSON", -1 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *doc =
			history_last_report(rows[i].text, strlen(rows[i].text));

		assert_int_equal(json_int(doc, -1, "n"), rows[i].want);
	}
}

RUN_TESTS(NULL, NULL)
