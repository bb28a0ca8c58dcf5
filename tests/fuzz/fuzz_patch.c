/*
 * Two documents, the second a patch of the first. A patch without directives
 * changes nothing when it is applied again but, perhaps, orders; what is
 * refused leaves the document as it was.
 */
#include <string.h>

#include "api/patch.h"
#include "base/cleanup.h"
#include "base/yaml.h"
#include "tests/fuzz/fuzz.h"

static void check(const cJSON *doc, const cJSON *patch, enum patch_type type)
{
	struct error err = { 0 };
	cleanup_json cJSON *once = json_dup(doc);
	cleanup_json cJSON *twice = NULL;
	cleanup_json cJSON *reread = NULL;
	cleanup_free char *text = NULL;

	if (patch_strategic(once, patch, type, &err)) {
		FUZZ_CHECK(err.kind && err.msg[0]);
		FUZZ_CHECK(json_equal(once, doc));
		return;
	}
	text = json_text(once);
	FUZZ_CHECK(!json_parse(&reread, text, strlen(text), &err));
	FUZZ_CHECK(json_equal(reread, once));
	twice = json_dup(once);
	if (strchr(text, '$') || patch_strategic(twice, patch, type, &err))
		return;
	cJSON_Delete(reread);
	reread = json_dup(twice);
	FUZZ_CHECK(!patch_strategic(reread, patch, type, &err));
	FUZZ_CHECK(json_equal(reread, twice));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	cleanup_json cJSON *docs = NULL;
	cleanup_json cJSON *merged = NULL;

	if (yaml_parse(&docs, data, size, &err) || cJSON_GetArraySize(docs) != 2 ||
	    !cJSON_IsObject(docs->child) || !cJSON_IsObject(docs->child->next))
		return 0;
	check(docs->child, docs->child->next, PATCH_JOBSET_SPEC);
	check(docs->child, docs->child->next, PATCH_POD_TEMPLATE);
	merged = json_dup(docs->child);
	patch_merge(merged, docs->child->next);
	return 0;
}
