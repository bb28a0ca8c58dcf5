#include "manager/runtimes.h"

#include "api/meta.h"
#include "base/str.h"
#include "tests/unit/kube/apiserver.h"

#define TRAINER "trainer.kubeflow.org/v1alpha1"

static void create(struct apiserver *s, const char *kind, const char *ns,
		   const char *name)
{
	cleanup_json cJSON *rt = meta_new(TRAINER, kind, ns, name);
	struct error err = { 0 };

	if (kube_create(s->kube, rt, &(struct kube_write){ 0 }, NULL, &err))
		fail_msg("%s", err.msg);
}

static void *found(struct apiserver *s, struct runtimes *r, const struct kube_ref *ref)
{
	struct error err = { 0 };
	cJSON *ret = NULL;

	if (runtimes_get(r, s ? s->kube : NULL, ref, &ret, &err))
		assert_int_equal(err.kind, ERR_NOT_FOUND);
	return ret;
}

static bool is_seen(struct runtimes *r, const struct kube_ref *ref)
{
	cleanup_json cJSON *runtime = found(NULL, r, ref);

	return str_eq(meta_kind(runtime), ref->kind);
}

/* What the watch has is not asked for; what it has not shown is, each time. */
TEST(test_read_from_the_watch_and_asked_for_on_a_miss)
{
	static const struct kube_ref refs[] = {
		{ TRAINER, "TrainingRuntime", "a", "rt" },
		{ TRAINER, "ClusterTrainingRuntime", NULL, "rt" },
	};
	static const struct kube_ref late = { TRAINER, "TrainingRuntime", "a", "late" };
	static const struct kube_ref none = { TRAINER, "TrainingRuntime", "a", "none" };
	struct apiserver s;
	struct runtimes *r;
	struct error err = { 0 };
	int64_t reads;

	apiserver_start(&s);
	assert_int_equal(runtimes_start(&r, s.kube, &err), 0);
	for (size_t i = 0; i < N_ELEMENTS(refs); i++)
		create(&s, refs[i].kind, refs[i].ns, refs[i].name);
	for (size_t i = 0; i < N_ELEMENTS(refs); i++) {
		cleanup_json cJSON *first = found(&s, r, &refs[i]);

		assert_non_null(first);
		EVENTUALLY(is_seen(r, &refs[i]));
	}
	/* The list is over: the watch brings this one. */
	create(&s, late.kind, late.ns, late.name);
	EVENTUALLY(is_seen(r, &late));
	reads = apiserver_seen(&s, "GET trainingruntimes");
	for (int i = 0; i < 20; i++) {
		cleanup_json cJSON *again = found(&s, r, &refs[0]);

		assert_non_null(again);
		assert_null(found(&s, r, &none));
	}
	assert_int_equal(apiserver_seen(&s, "GET trainingruntimes"), reads + 20);
	runtimes_stop(r);
	apiserver_stop(&s);
}

static bool has_label(struct runtimes *r, const struct kube_ref *ref)
{
	cleanup_json cJSON *now = found(NULL, r, ref);

	return str_eq(meta_label(now, "version"), "new");
}

/* A change is there as soon as the watch shows it; nothing is as old as a quarter second. */
TEST(test_a_change_is_seen)
{
	static const struct kube_ref ref = { TRAINER, "TrainingRuntime", "a", "rt" };
	cleanup_json cJSON *patch = cJSON_CreateObject();
	struct apiserver s;
	struct runtimes *r;
	struct error err = { 0 };

	apiserver_start(&s);
	assert_int_equal(runtimes_start(&r, s.kube, &err), 0);
	create(&s, "TrainingRuntime", "a", "rt");
	json_put_str(patch, "new", "metadata", "labels", "version");
	assert_int_equal(kube_merge_patch(s.kube, &ref, patch, &(struct kube_write){ 0 },
					  NULL, &err),
			 0);
	EVENTUALLY(has_label(r, &ref));
	runtimes_stop(r);
	apiserver_stop(&s);
}

RUN_TESTS(NULL, NULL)
