/* Whatever an API server says, something is told of it. */
#include <string.h>

#include "api/field.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "client/refusal.h"
#include "tests/fuzz/fuzz.h"

/* With lists whose elements have keys, one key's default, no key. */
static const char object[] = "{\"spec\":{\"a\":[{\"k\":\"x\"},{\"k\":\"y\",\"p\":80},{"
			     "\"p\":80},[1,\"v\"],2]}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *obj = NULL, *status = cJSON_CreateObject();
	cleanup_refusals struct refusals r = { 0 };
	struct error err = { 0 };

	FUZZ_CHECK(!json_parse(&obj, object, strlen(object), &err));
	json_put_str(status, str_slice(&arena, (const char *)data, size), "message");
	refusals_read(&r, status, obj, "words");
	FUZZ_CHECK(r.n);
	for (size_t i = 0; i < r.n; i++) {
		const char *path = r.list[i].path, *text = r.list[i].text;

		FUZZ_CHECK(path && *text);
		FUZZ_CHECK(field_path_same(path, path));
	}
	return 0;
}
