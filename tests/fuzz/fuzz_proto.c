/*
 * An event of a watch in protobuf is read the same when its fields are written again, and
 * gives a document that JSON can carry.
 */
#include <string.h>

#include "api/proto.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "tests/fuzz/fuzz.h"

static const struct proto_field *const written[] = {
	proto_namespace,      proto_config_map,    proto_secret,
	proto_service,        proto_event_object,  proto_lease,
	proto_delete_options, proto_access_review, proto_token_review,
};

/* As this machine's API reads a body: what comes of it is JSON, or is refused. */
static void check_body(const struct proto_field *fields, const uint8_t *data, size_t size)
{
	cleanup_json cJSON *doc = NULL;
	cleanup_json cJSON *again = NULL;
	cleanup_free char *text = NULL;
	struct error err = { 0 };

	if (proto_object(&doc, data, size, fields, &err)) {
		FUZZ_CHECK(err.kind == ERR_FORMAT || err.kind == ERR_LIMIT);
		return;
	}
	text = json_text(doc);
	if (json_parse(&again, text, strlen(text), &err))
		FUZZ_CHECK(strstr(err.msg, "duplicate key") || err.kind == ERR_LIMIT);
	else
		FUZZ_CHECK(json_equal(doc, again));
}

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
	for (size_t i = 0; i < N_ELEMENTS(written); i++)
		check_body(written[i], data, size);
	return 0;
}
