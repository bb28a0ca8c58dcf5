/*
 * An event of a watch in protobuf is read the same when its fields are written again, and
 * gives a document that JSON can carry.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "api/proto.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_json cJSON *event = NULL;
	cleanup_json cJSON *obj = NULL;
	struct error err = { 0 };

	if (proto_event(&event, data, size, proto_pod, &err)) {
		FUZZ_CHECK(err.kind == ERR_FORMAT || err.kind == ERR_LIMIT);
		FUZZ_CHECK(!event);
	} else {
		cleanup_free char *text = json_text(event);
		cleanup_json cJSON *again = json_reread(text);

		FUZZ_CHECK(json_equal(event, again));
	}
	FUZZ_CHECK(proto_object(&obj, data, size, proto_pod, &err) ||
		   proto_is_object(data, size));
	return 0;
}
