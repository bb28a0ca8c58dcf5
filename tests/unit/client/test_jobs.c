#include "client/jobs.h"

#include "api/meta.h"
#include "client/deletion.h"
#include "client/events.h"
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

static void put(struct apiserver *s, const cJSON *obj)
{
	const struct kube_write plain = { 0 };
	struct error err = { 0 };

	if (kube_create(s->kube, obj, &plain, NULL, &err))
		fail_msg("%s", err.msg);
}

/* As above: of the events and pods of two pages, none is shown or counted twice. */
TEST(test_lists_that_begin_again)
{
	cleanup_json cJSON *jobs = cJSON_CreateArray(), *events = NULL;
	struct apiserver s = { 0 };
	struct error err = { 0 };

	cJSON_AddItemToArray(jobs,
			     meta_new(TRAINER_API_VERSION, TRAINJOB_KIND, "a", "j"));
	apiserver_start(&s);
	for (int i = 0; i < N; i++) {
		cleanup_json cJSON *event = NULL, *pod = NULL;
		char name[16];

		snprintf(name, sizeof(name), "j-%03d", i);
		event = meta_new("v1", "Event", "a", name);
		json_put_str(event, "Pod", "involvedObject", "kind");
		json_put_str(event, name, "involvedObject", "name");
		put(&s, event);
		pod = meta_new("v1", "Pod", "a", name);
		put(&s, pod);
	}
	apiserver_do(&s, "{'op':'expire','forget':'/api/v1/namespaces/a/events/j-007'}");
	assert_int_equal(events_read(s.kube, "a", "j", jobs, &events, &err), 0);
	assert_int_equal(cJSON_GetArraySize(events), N - 1);
	apiserver_do(&s, "{'op':'expire','forget':'/api/v1/namespaces/a/pods/j-007'}");
	assert_int_equal(deletion_pods(s.kube, "a", "j"), N - 1);
	apiserver_stop(&s);
}

RUN_TESTS(NULL, NULL)
