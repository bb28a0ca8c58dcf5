/* The buttons of a job's page: each right is asked once. */
#include "tests/unit/base/base_test.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "ui/act.h"

struct api {
	int asked;
	bool allows;
};

static void answer(void *ctx, const struct httpd_request *req, struct httpd_response *r)
{
	struct api *api = ctx;

	assert_true(str_ends(req->path, "/selfsubjectaccessreviews"));
	api->asked++;
	r->status = 201;
	r->content_type = "application/json";
	buf_printf(&r->body, "{\"status\":{\"allowed\":%s}}",
		   api->allows ? "true" : "false");
}

static int count(const char *text, const char *word)
{
	int n = 0;

	while ((text = strstr(text, word))) {
		text++;
		n++;
	}
	return n;
}

TEST(links_follow_the_users_rights)
{
	static const char job[] =
		"{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"TrainJob\","
		"\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"labels\":{%s}},"
		"\"spec\":{\"suspend\":true}}";
	static const struct {
		const char *label;
		bool allows;
		int asked, links, grey;
	} rows[] = {
		{ "", true, 2, 2, 0 },
		{ "\"kueue.x-k8s.io/queue-name\":\"q\"", true, 2, 3, 0 },
		{ "\"kueue.x-k8s.io/queue-name\":\"q\"", false, 2, 0, 3 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_buf struct buf out = { .max = 1 << 16 };
		struct api api = { .allows = rows[i].allows };
		const struct kube_config config = { .ns = "n" };
		struct kube_opts opts = { .inside = { .handle = answer, .ctx = &api } };
		const char *text = arena_printf(&arena, job, rows[i].label);
		cleanup_json cJSON *doc = NULL;
		struct kube *k;
		struct error err;

		assert_int_equal(json_parse(&doc, text, strlen(text), &err), 0);
		assert_int_equal(kube_new(&k, &config, &opts, &err), 0);
		act_links(&out, k, doc);
		check_int("requests", api.asked, rows[i].asked);
		check_int("links", count((char *)out.data, "<a class"), rows[i].links);
		check_int("grey", count((char *)out.data, "<button disabled"),
			  rows[i].grey);
		kube_free(k);
	}
}

RUN_TESTS(NULL, NULL)
