/* Any bytes as thresholds: refused with a message, or numbers above 0. */
#include "gpu/expect.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const keys[] = { "hostToDevice", "peer", "allReduce",
					    "other" };
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };
	const cJSON *device;

	if (gpu_expect_parse(&doc, data, size, &err)) {
		FUZZ_CHECK(!doc && err.kind && *err.msg);
		return 0;
	}
	json_each(device, json_get(doc, "devices"))
		for (size_t i = 0; i < 4; i++)
			FUZZ_CHECK(gpu_expected(doc, device->string, keys[i]) >= 0);
	FUZZ_CHECK(gpu_expected(doc, "none of them", "other") == 0);
	return 0;
}
