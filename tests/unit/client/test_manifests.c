/* What install knows of images, Deployments and CRDs. */

#include "base/cleanup.h"
#include "client/manifests.h"
#include "tests/unit/unit.h"

TEST(test_registry)
{
	static const struct {
		const char *image, *registry, *want;
	} rows[] = {
		{ "python", "m.example", "m.example/python" },
		{ "pytorch/pytorch:2.1", "m.example", "m.example/pytorch/pytorch:2.1" },
		{ "ghcr.io/a/b:1", "m.example:5000/x", "m.example:5000/x/a/b:1" },
		{ "ghcr.io/a/b@sha256:00", "m.example/", "m.example/a/b@sha256:00" },
		{ "localhost/b", "m.example//", "m.example/b" },
		{ "localhost:5000/b:c", "m", "m/b:c" },
		{ "a:5000/b", "m", "m/b" },
		{ "b:5000", "m", "m/b:5000" },
		{ "", "m", "m/" },
		{ "a.b/c", "/", "/c" },
	};
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_string_equal(
			manifests_image(&arena, rows[i].image, rows[i].registry),
			rows[i].want);
}

static bool asks(bool (*question)(const cJSON *), const char *text)
{
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };

	assert_int_equal(json_parse(&doc, text, strlen(text), &err), 0);
	return question(doc);
}

#define STATUS(seen, all, updated, available)                                     \
	"{\"metadata\":{\"generation\":3},\"spec\":{\"replicas\":2},\"status\":{" \
	"\"observedGeneration\":" #seen ",\"replicas\":" #all                     \
	",\"updatedReplicas\":" #updated ",\"availableReplicas\":" #available "}}"

TEST(test_deployment)
{
	assert_true(asks(manifests_deployment_done, STATUS(3, 2, 2, 2)));
	assert_false(asks(manifests_deployment_done,
			  STATUS(2, 2, 2, 2))); /* not looked at yet */
	assert_false(asks(manifests_deployment_done,
			  STATUS(3, 3, 2, 2))); /* an old pod remains */
	assert_false(asks(manifests_deployment_done, STATUS(3, 2, 1, 2)));
	assert_false(asks(manifests_deployment_done, STATUS(3, 2, 2, 1)));
	assert_false(asks(manifests_deployment_done, "{}"));
}

#define CONDITIONS(type, status)                                               \
	"{\"status\":{\"conditions\":[{\"type\":\"NamesAccepted\",\"status\":" \
	"\"True\"},{\"type\":\"" type "\",\"status\":\"" status "\"}]}}"

TEST(test_crd)
{
	assert_true(asks(manifests_crd_established, CONDITIONS("Established", "True")));
	assert_false(asks(manifests_crd_established, CONDITIONS("Established", "False")));
	assert_false(asks(manifests_crd_established, CONDITIONS("Terminating", "True")));
	assert_false(asks(manifests_crd_established, "{}"));
}

RUN_TESTS(NULL, NULL)
