/* Rows of preflight with the largest thresholds that a file may have. */
#include "base/json.h"
#include "gpu/preflight.h"
#include "tests/unit/unit.h"

static double value, expected;

static void keep(void *ctx, const cJSON *row)
{
	value = json_get(row, "value")->valuedouble;
	expected = json_get(row, "expected")->valuedouble;
}

TEST(test_rounding)
{
	struct preflight p = { .node = "node", .report = keep };

	preflight_report(&p, (struct preflight_row){ .check = "peers",
						     .message = "",
						     .unit = "GB/s",
						     .value = 12.346,
						     .expected = 1e300 });
	assert_true(value == 12.35);
	assert_true(expected == 1e300);
}

RUN_TESTS(NULL, NULL)
