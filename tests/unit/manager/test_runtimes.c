#include "manager/runtimes.h"

#include "api/meta.h"
#include "tests/unit/kube/apiserver.h"

#define TRAINER "trainer.kubeflow.org/v1alpha1"

static void test_read_once_for_many(void **state)
{
	static const struct {
		uint64_t of, seen;
		int64_t reads; /* so far */
	} rows[] = {
		{ 5, 7, 1 },                /* the first */
		{ 6, 9, 1 },                /* came before 7 had been seen */
		{ 7, 9, 1 },   { 8, 9, 2 }, /* came later: another read */
		{ 9, 9, 2 },   { 4, 4, 2 },
		{ 0, 20, 3 }, /* a version that is no number */
		{ 10, 20, 3 },
	};
	struct apiserver server;
	struct runtimes r;
	struct error err = { 0 };
	cleanup_json cJSON *rt = meta_new(TRAINER, "TrainingRuntime", "a", "rt");

	(void)state;
	apiserver_start(&server);
	runtimes_init(&r);
	assert_int_equal(
		kube_create(server.kube, rt, &(struct kube_write){ 0 }, NULL, &err), 0);
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		const struct runtime_query q = {
			.kube = server.kube,
			.ref = { TRAINER, "TrainingRuntime", "a", "rt" },
			.of = rows[i].of,
			.seen = rows[i].seen,
		};
		cleanup_runtime_doc struct runtime_doc *doc = NULL;

		if (runtimes_get(&r, &q, &doc, &err))
			fail_msg("%s", err.msg);
		check_text("name", meta_name(doc->obj), "rt");
		if (apiserver_seen(&server, "GET trainingruntimes") != rows[i].reads)
			fail_msg("row %zu", i);
	}
	runtimes_release(&r);
	apiserver_stop(&server);
}

static void test_each_by_its_name(void **state)
{
	struct apiserver server;
	struct runtimes r;
	char name[16];

	(void)state;
	apiserver_start(&server);
	runtimes_init(&r);
	/* More than are held, twice; and one that is not there. */
	for (int i = 0; i < 80; i++) {
		const struct runtime_query q = {
			.kube = server.kube,
			.ref = { TRAINER, "ClusterTrainingRuntime", NULL, name },
			.of = 1,
			.seen = 1,
		};
		struct error err = { 0 };
		cleanup_json cJSON *rt = NULL;
		cleanup_runtime_doc struct runtime_doc *doc = NULL;

		snprintf(name, sizeof(name), "rt%d", i % 40);
		rt = meta_new(TRAINER, "ClusterTrainingRuntime", NULL, name);
		if (i < 40) {
			assert_int_equal(runtimes_get(&r, &q, &doc, &err), -1);
			assert_int_equal(err.kind, ERR_NOT_FOUND);
			err = (struct error){ 0 };
			assert_int_equal(kube_create(server.kube, rt,
						     &(struct kube_write){ 0 }, NULL,
						     &err),
					 0);
		}
		if (runtimes_get(&r, &q, &doc, &err))
			fail_msg("%s", err.msg);
		check_text("name", meta_name(doc->obj), name);
	}
	runtimes_release(&r);
	apiserver_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_once_for_many),
		cmocka_unit_test(test_each_by_its_name),
	};

	return cmocka_run_group_tests_name("runtimes", tests, NULL, NULL);
}
