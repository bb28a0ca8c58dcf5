/* A selector, then labels as a second line. What is read matches or does not; no field twice. */
#include <string.h>

#include "api/selector.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	char *text = str_slice(&arena, (const char *)data, size);
	char *labels_text = strchr(text, '\n');
	cleanup_json cJSON *labels = NULL;
	const struct requirement *r = NULL;
	struct error err = { 0 };

	if (labels_text)
		*labels_text++ = 0;
	if (labels_text && json_parse(&labels, labels_text, strlen(labels_text), &err))
		labels = NULL;
	err = (struct error){ 0 };
	if (selector_labels(&arena, text, &r, &err)) {
		FUZZ_CHECK(err.kind == ERR_INVALID || err.kind == ERR_LIMIT);
	} else {
		bool all = true;

		for (const struct requirement *q = r; q; q = q->next)
			all &= requirement_holds(q, json_str(labels, q->key));
		FUZZ_CHECK(all == selector_matches(r, labels));
	}
	err = (struct error){ 0 };
	if (selector_fields(&arena, text, &r, &err))
		FUZZ_CHECK(err.kind == ERR_INVALID || err.kind == ERR_LIMIT);
	return 0;
}
