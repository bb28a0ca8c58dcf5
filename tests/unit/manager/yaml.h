/* yaml.h - a document written as YAML. */
#ifndef TESTS_UNIT_MANAGER_YAML_H
#define TESTS_UNIT_MANAGER_YAML_H

#include "base/yaml.h"
#include "tests/unit/base/base_test.h"

static inline cJSON *yaml(const char *text)
{
	cleanup_json cJSON *docs = NULL;
	struct error err = { 0 };

	if (yaml_parse(&docs, text, strlen(text), &err))
		fail_msg("%s: %s", text, err.msg);
	return cJSON_DetachItemViaPointer(docs, docs->child);
}

#endif
