/* Which containers become this program on this machine, by image or argument. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "local/initializers.h"
#include "tests/unit/unit.h"

static cJSON *objects_with(const char *container)
{
	char text[1000];
	struct error err = { 0 };
	cJSON *ret = NULL;

	snprintf(text, sizeof(text),
		 "[{\"kind\":\"ConfigMap\"},{\"kind\":\"JobSet\",\"spec\":{"
		 "\"replicatedJobs\":[{\"name\":\"x\",\"template\":{\"spec\":{"
		 "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",%s}]}}}}}]}}]",
		 container);
	if (json_parse(&ret, text, strlen(text), &err))
		fail_msg("%s: %s", text, err.msg);
	return ret;
}

static const cJSON *container_of(const cJSON *objects)
{
	const cJSON *c = json_get(objects->child->next, "spec", "replicatedJobs");

	c = json_get(c->child, "template", "spec", "template", "spec");
	return json_get(c, "containers")->child;
}

TEST(test_which)
{
	static const struct {
		const char *container, *command; /* NULL: left alone */
	} rows[] = {
		{ "\"image\":\"ghcr.io/kubeflow/trainer/dataset-initializer:v2\"",
		  "initialize-dataset" },
		{ "\"image\":\"mirror/model-initializer@sha256:00\"",
		  "initialize-model" },
		{ "\"image\":\"model-initializer\"", "initialize-model" },
		{ "\"image\":\"kftrainer:1\",\"args\":[\"initialize-dataset\"]",
		  "initialize-dataset" },
		{ "\"image\":\"my-model-initializer\"", NULL },
		{ "\"image\":\"model-initializer\",\"command\":[\"true\"]", NULL },
		{ "\"image\":\"model-initializer/x\"", NULL },
		{ "\"args\":[\"train\"]", NULL },
		{ "\"image\":\"\"", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *objects = objects_with(rows[i].container);
		cleanup_json cJSON *before = json_dup(objects);
		struct error err = { 0 };
		const cJSON *c, *command;

		assert_int_equal(initializers_map(objects, &err), 0);
		c = container_of(objects);
		if (!rows[i].command) {
			assert_true(json_equal(c, container_of(before)));
			continue;
		}
		command = json_get(c, "command");
		assert_true(command->child->valuestring[0] == '/');
		assert_string_equal(command->child->next->valuestring, rows[i].command);
		assert_null(command->child->next->next);
		assert_int_equal(cJSON_GetArraySize(json_get(c, "args")), 0);
	}
}

/* cache-serve keeps its arguments; what would make a cache in a cluster is refused. */
TEST(test_cache)
{
	cleanup_json cJSON *pods = objects_with(
		"\"image\":\"kftrainer:1\",\"args\":[\"cache-serve\",\"pod\"]");
	cleanup_json cJSON *lws =
		objects_with("\"image\":\"x/dataset-initializer\",\"env\":[{\"name\":"
			     "\"STORAGE_URI\",\"value\":\"cache://s/t\"}]");
	struct error err = { 0 };
	const cJSON *c;

	assert_int_equal(initializers_map(pods, &err), 0);
	c = container_of(pods);
	assert_true(json_get(c, "command")->child->valuestring[0] == '/');
	assert_int_equal(cJSON_GetArraySize(json_get(c, "command")), 1);
	assert_int_equal(cJSON_GetArraySize(json_get(c, "args")), 2);
	assert_int_equal(initializers_map(lws, &err), -1);
	assert_int_equal(err.kind, ERR_UNSUPPORTED);
	assert_non_null(strstr(err.msg, "torch-distributed-with-cache-jobs"));
}

/* So does export-model; a command is kept, and other arguments get none. */
TEST(test_export)
{
	static const struct {
		const char *container;
		int words; /* of its command afterwards */
	} rows[] = {
		{ "\"image\":\"kftrainer:1\",\"args\":[\"export-model\",\"/out\"]", 1 },
		{ "\"image\":\"x\",\"command\":[\"a\",\"b\"],"
		  "\"args\":[\"export-model\"]",
		  2 },
		{ "\"image\":\"kftrainer:1\",\"args\":[\"why\"]", 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *pods = objects_with(rows[i].container);
		cleanup_json cJSON *before = json_dup(container_of(pods));
		struct error err = { 0 };
		const cJSON *c;

		assert_int_equal(initializers_map(pods, &err), 0);
		c = container_of(pods);
		assert_int_equal(cJSON_GetArraySize(json_get(c, "command")),
				 rows[i].words);
		assert_true(json_equal(json_get(c, "args"), json_get(before, "args")));
	}
}

RUN_TESTS(NULL, NULL)
