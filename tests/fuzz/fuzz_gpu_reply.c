/* Any bytes as a reply of the GPU helper: refused with a message, or an object. */
#include <stdlib.h>
#include <string.h>

#include "gpu/discover.h"
#include "gpu/health.h"
#include "gpu/helper.h"
#include "tests/fuzz/fuzz.h"

static void check(const void *data, size_t len, uint32_t seq)
{
	cJSON *doc = NULL;
	struct gpu_finding findings[GPU_FINDINGS_MAX];
	struct error err = { 0 };

	if (gpu_reply_parse(&doc, data, len, seq, &err)) {
		FUZZ_CHECK(!doc && err.kind && *err.msg);
		return;
	}
	FUZZ_CHECK(cJSON_IsObject(doc));
	FUZZ_CHECK(gpu_findings(doc, findings) <= GPU_FINDINGS_MAX);
	cJSON_Delete(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpu_reply head = { GPU_WIRE_VERSION, 1, GPU_DONE, (uint32_t)size };
	unsigned char *whole = malloc(sizeof(head) + size + 1);

	FUZZ_CHECK(whole);
	check(data, size, 1);
	/* a head that fits, so that the text is read: as a result, and as each failure */
	for (head.status = GPU_DONE; head.status <= GPU_REFUSED; head.status++) {
		memcpy(whole, &head, sizeof(head));
		if (size)
			memcpy(whole + sizeof(head), data, size);
		check(whole, sizeof(head) + size, 1);
	}
	free(whole);
	return 0;
}
