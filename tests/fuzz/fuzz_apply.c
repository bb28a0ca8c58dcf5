/*
 * Two documents: a TrainJob that is there, and what is sent about it: applied by two managers,
 * merged, as a JSON Patch, updated. Applied twice it is the same; what a manager applied is
 * there; managedFields are sets that can be read again.
 */
#include <string.h>

#include "api/jsonpatch.h"
#include "api/managers.h"
#include "api/patch.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/yaml.h"
#include "tests/fuzz/fuzz.h"

static const struct node *type_of(void)
{
	static struct schema *schema;
	const struct asset *text = asset_find("schema.json");
	struct error err = { 0 };

	if (!schema)
		FUZZ_CHECK(!schema_load(&schema, text->data, text->len, &err));
	return typed_of(schema, "trainer.kubeflow.org/v1alpha1", "TrainJob");
}

static cJSON *apply(const char *who, const cJSON *live, const cJSON *config, bool force)
{
	const struct manager_of by = { .type = type_of(),
				       .manager = who,
				       .api_version = "trainer.kubeflow.org/v1alpha1",
				       .subresource = "",
				       .now = "2026-01-01T00:00:00Z",
				       .force = force };
	cleanup_json cJSON *causes = NULL;
	struct error err = { 0 };
	cJSON *obj = NULL;

	if (managers_apply(&by, live, config, &obj, &causes, &err)) {
		FUZZ_CHECK(!force && err.kind == ERR_CONFLICT && causes && causes->child);
		return NULL;
	}
	FUZZ_CHECK(!managers_invalid(json_get(obj, "metadata", "managedFields")));
	return obj;
}

static void check_apply(const cJSON *live, const cJSON *config)
{
	cleanup_json cJSON *once = apply("one", live, config, true);
	cleanup_json cJSON *twice = apply("one", once, config, false);
	cleanup_json cJSON *other = apply("two", once, live, false);

	FUZZ_CHECK(once && twice && json_equal(once, twice));
	FUZZ_CHECK(!other || cJSON_IsObject(other));
}

static void check_update(const cJSON *live, const cJSON *config)
{
	const struct manager_of by = { .type = type_of(),
				       .manager = "hand",
				       .api_version = "trainer.kubeflow.org/v1alpha1",
				       .subresource = "",
				       .now = "2026-01-01T00:00:00Z" };
	cleanup_json cJSON *obj = json_dup(live);
	struct error err = { 0 };

	patch_merge(obj, config);
	managers_update(&by, live, obj);
	FUZZ_CHECK(!managers_invalid(json_get(obj, "metadata", "managedFields")));
	if (jsonpatch_apply(&obj, config, &err))
		FUZZ_CHECK(err.kind);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_json cJSON *docs = NULL;
	struct error err = { 0 };

	if (size > 16384 || yaml_parse(&docs, data, size, &err) ||
	    cJSON_GetArraySize(docs) != 2 || !cJSON_IsObject(docs->child) ||
	    !cJSON_IsObject(docs->child->next) ||
	    (json_get(docs->child, "metadata") &&
	     !cJSON_IsObject(json_get(docs->child, "metadata"))) ||
	    (json_get(docs->child->next, "metadata") &&
	     !cJSON_IsObject(json_get(docs->child->next, "metadata"))) ||
	    json_get(docs->child->next, "metadata", "managedFields") ||
	    typed_check(type_of(), docs->child, false, &err) ||
	    typed_check(type_of(), docs->child->next, false, &err))
		return 0;
	check_apply(docs->child, docs->child->next);
	check_update(docs->child, docs->child->next);
	return 0;
}
