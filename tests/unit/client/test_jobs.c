#include "client/jobs.h"

#include "api/meta.h"
#include "tests/unit/kube/apiserver.h"
#include "trainer/api.h"

enum { N = 501 }; /* two pages */

/* A list whose pages expire is read again: each job is shown once. */
TEST(test_a_list_that_begins_again_shows_each_job_once)
{
	const struct kube_write plain = { 0 };
	struct apiserver s = { 0 };
	struct error err = { 0 };
	cleanup_json cJSON *list = NULL;

	apiserver_start(&s);
	for (int i = 0; i < N; i++) {
		char name[16];
		cleanup_json cJSON *tj = NULL;

		snprintf(name, sizeof(name), "j%03d", i);
		tj = meta_new(TRAINER_API_VERSION, TRAINJOB_KIND, "a", name);
		if (kube_create(s.kube, tj, &plain, NULL, &err))
			fail_msg("%s", err.msg);
	}
	apiserver_do(&s, "{'op':'expire','forget':'/apis/trainer.kubeflow.org/v1alpha1/"
			 "namespaces/a/trainjobs/j007'}");
	if (job_list(s.kube, "a", NULL, &list, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(cJSON_GetArraySize(list), N - 1);
	assert_string_equal(meta_name(list->child), "j000");
	assert_string_equal(meta_name(list->child->next), "j001");
	apiserver_stop(&s);
}

RUN_TESTS(NULL, NULL)
