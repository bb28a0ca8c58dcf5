#include "manager/snapshots.h"

#include "tests/unit/base/base_test.h"
#include "tests/unit/manager/yaml.h"

/* What the snapshot of `rt` says for a TrainJob of that name; the caller's. */
static char *text_of(struct snapshots *s, const char *tj_name, const cJSON *rt)
{
	cleanup_json cJSON *tj = yaml("{kind: TrainJob, metadata: {uid: u1}}");
	cleanup_json cJSON *map = NULL;
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };

	json_put_str(tj, tj_name, "metadata", "name");
	assert_int_equal(snapshots_make(s, &map, tj, rt, &err), 0);
	check_text("name", json_str(map, "metadata", "name"),
		   arena_printf(&arena, "%s-runtime-snapshot", tj_name));
	return strdup(json_str(map, "data", "runtime"));
}

/* The text is made once for a version of a runtime, and never stands for another. */
TEST(test_texts_that_are_kept)
{
	cleanup_json cJSON *one =
		yaml("{kind: TrainingRuntime, metadata: {name: rt, uid: "
		     "r1, resourceVersion: '7'}, spec: {a: 1}}");
	cleanup_json cJSON *unnamed =
		yaml("{kind: TrainingRuntime, metadata: {name: rt}, "
		     "spec: {a: 4}}");
	cleanup_free char *first = NULL, *kept = NULL, *newer = NULL, *other = NULL;
	cleanup_free char *bare = NULL;
	struct snapshots s;

	snapshots_init(&s);
	first = text_of(&s, "x", one);
	kept = text_of(&s, "y", one);
	check_text("the same version", kept, first);
	json_put_int(one, 2, "spec", "a");
	json_put_str(one, "8", "metadata", "resourceVersion");
	newer = text_of(&s, "x", one);
	assert_non_null(strstr(newer, "a: 2"));
	json_put_int(one, 3, "spec", "a");
	json_put_str(one, "r2", "metadata", "uid");
	other = text_of(&s, "x", one);
	assert_non_null(strstr(other, "a: 3"));
	bare = text_of(&s, "x", unnamed);
	assert_non_null(strstr(bare, "a: 4"));
	snapshots_release(&s);
}

/* Nobody's many runtimes make the others' forgotten, but for one each. */
TEST(test_a_full_cache_of_texts_forgets_one)
{
	enum { HELD = 32 };
	struct snapshots s;

	snapshots_init(&s);
	for (int i = 0; i < HELD + 10; i++) {
		cleanup_json cJSON *rt =
			yaml("{kind: TrainingRuntime, metadata: {name: rt, "
			     "resourceVersion: '7'}, spec: {a: 1}}");
		char uid[16];

		snprintf(uid, sizeof(uid), "r%d", i);
		json_put_str(rt, uid, "metadata", "uid");
		free(text_of(&s, "x", rt));
		assert_int_equal(s.map.n, i < HELD ? i + 1 : HELD);
	}
	snapshots_release(&s);
}

TEST(test_a_text_is_found_by_its_digest)
{
	cleanup_json cJSON *rt = yaml("{kind: TrainingRuntime, metadata: {name: rt, uid: "
				      "r1, resourceVersion: '7'}, spec: {a: 1}}");
	cleanup_json cJSON *tj = yaml("{kind: TrainJob, metadata: {name: x, uid: u1}}");
	cleanup_json cJSON *found = NULL;
	cleanup_free char *text = NULL;
	char digest[DIGEST_HEX_SIZE];
	struct snapshots s;

	snapshots_init(&s);
	text = text_of(&s, "x", rt);
	assert_null(snapshots_of_digest(&s, tj, ""));
	snapshots_digest("another", digest);
	assert_null(snapshots_of_digest(&s, tj, digest));
	snapshots_hold(&s, "another", digest);
	found = snapshots_of_digest(&s, tj, digest);
	check_text("text", snapshot_text(found), "another");
	cJSON_Delete(STEAL(found));
	snapshots_digest(text, digest);
	found = snapshots_of_digest(&s, tj, digest);
	check_text("text", snapshot_text(found), text);
	snapshots_release(&s);
}

RUN_TESTS(NULL, NULL)
