/* A filter on columns of all types; and moments, which read back as they are printed. */
#include <string.h>

#include "arrow/moments.h"
#include "arrow/predicate.h"
#include "base/cleanup.h"
#include "tests/fuzz/fuzz.h"

#define COLUMN(name_, ...)                                                        \
	{                                                                         \
		.name = (char *)(uintptr_t)(name_), .nullable = true, __VA_ARGS__ \
	}

static const struct field columns[] = {
	COLUMN("b", .kind = ARROW_BOOL),
	COLUMN("i", .kind = ARROW_INT64, .width = 8),
	COLUMN("d", .kind = ARROW_DOUBLE, .width = 8),
	COLUMN("f", .kind = ARROW_FLOAT, .width = 4),
	COLUMN("m", .kind = ARROW_DECIMAL, .width = 16, .precision = 9, .scale = 2),
	COLUMN("s", .kind = ARROW_STRING),
	COLUMN("u", .kind = ARROW_FIXED, .width = 16, .uuid = true),
	COLUMN("day", .kind = ARROW_DATE, .width = 4),
	COLUMN("t", .kind = ARROW_TIMESTAMP, .width = 8, .unit = ARROW_US, .utc = true),
	COLUMN("c", .kind = ARROW_TIME64, .width = 8, .unit = ARROW_NS),
	COLUMN("l", .kind = ARROW_LIST),
};

static void check_moment(int64_t v, const struct field *f)
{
	cleanup_buf struct buf text = { .max = 100 };
	int64_t back = 0;

	moment_text(&text, f, &v);
	FUZZ_CHECK(moment_parse(&back, f, (const char *)text.data) && back == v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* years 0 to 9999 */
	const int64_t from = -62167219200, seconds = 315569520000;
	struct predicate *p = NULL;
	struct error err = { 0 };
	uint64_t v = 0;

	if (!predicate_parse(&p, data, size, columns, N_ELEMENTS(columns), &err))
		for (size_t i = 0; i < predicate_conditions(p); i++)
			FUZZ_CHECK(predicate_column(p, i) < N_ELEMENTS(columns));
	predicate_free(p);
	memcpy(&v, data, size < sizeof(v) ? size : sizeof(v));
	check_moment(from * 1000000 + (int64_t)(v % ((uint64_t)seconds * 1000000)),
		     &columns[8]);
	check_moment((int64_t)(v % (86400ull * 1000000000)), &columns[9]);
	check_moment(from / 86400 + (int64_t)(v % ((uint64_t)seconds / 86400)),
		     &columns[7]);
	return 0;
}
