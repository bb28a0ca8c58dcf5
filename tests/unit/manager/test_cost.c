/*
 * The work of a review of 3 MB (tests/unit/cost.h): 70 million are about 50 ms of the
 * released program on a slow machine.
 */

#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "manager/webhook.h"
#include "tests/unit/cost.h"
#include "tests/unit/unit.h"

enum { MAX_COST = 70000000, BODY = 3 * 1024 * 1024, VALUES = 100000 };

#define PATH(what, kind) "/" what "-trainer-kubeflow-org-v1alpha1-" kind
#define TJ(meta, spec)                                                                   \
	"{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob','metadata':{"   \
	"'name':'a'" meta "},'spec':{'runtimeRef':{'name':'r','kind':'TrainingRuntime'," \
	"'apiGroup':'trainer.kubeflow.org'}" spec "}}"
#define RT(spec)                                                                       \
	"{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainingRuntime',"      \
	"'metadata':{'name':'r','labels':{'trainer.kubeflow.org/framework':'torch'}}," \
	"'spec':{" spec "}}"
#define JOBS(jobs) \
	RT("'mlPolicy':{'torch':{}},'template':{'spec':{'replicatedJobs':[" jobs "]}}")
#define POD(members)                                                                    \
	"{'name':'node','template':{'metadata':{'labels':{'trainer.kubeflow.org/"       \
	"trainjob-ancestor-step':'trainer'}},'spec':{'template':{'spec':{'containers':" \
	"[" members "]}}}}}"

static const struct row {
	const char *what, *path, *object;
	int values; /* of each element */
} rows[] = {
	{ "resources", PATH("validate", "trainjob"),
	  TJ("", ",'trainer':{'resourcesPerNode':{'limits':{<'a.b/resource-#':'1'>}}}"),
	  1 },
	{ "env", PATH("validate", "trainjob"),
	  TJ("", ",'trainer':{'env':[<{'name':'VARIABLE_#','value':'v'}>]}"), 3 },
	{ "labels", PATH("mutate", "trainjob"),
	  TJ(",'labels':{<'a.b/label-#':'value'>}",
	     ",'runtimePatches':[{'manager':'a/b'}]"),
	  1 },
	{ "bad variables", PATH("validate", "trainjob"),
	  TJ("", ",'trainer':{'env':[<#>]}"), 1 },
	{ "patches", PATH("mutate", "trainjob"),
	  TJ("", ",'runtimePatches':[<{'manager':'a#/b'}>]"), 2 },
	{ "unknown members", PATH("validate", "trainjob"), TJ("", ",<'#':{}>"), 1 },
	{ "jobs", PATH("validate", "trainingruntime"),
	  JOBS("<{'name':'j#','dependsOn':[{'name':'j^','status':'Ready'}]}>"), 6 },
	{ "containers", PATH("validate", "trainingruntime"),
	  JOBS(POD("<{'name':'c#','image':'i'}>")), 3 },
	{ "limits", PATH("validate", "trainingruntime"),
	  JOBS(POD("{'name':'node','image':'i','resources':{'limits':"
		   "{<'nvidia.com/mig-#':1>}}}")),
	  1 },
	{ "bad limits", PATH("validate", "trainingruntime"),
	  JOBS(POD("{'name':'node','image':'i','resources':{'limits':{<'r#':'x'>}}}")),
	  1 },
	{ "annotations", PATH("validate", "trainingruntime"),
	  RT("'template':{'metadata':{'annotations':{<'a/b#':'c'>}},'spec':{}}"), 1 },
};

static uint64_t review(const char *path, const char *body)
{
	static const struct webhook_conf conf;
	static const struct httpd_header headers[] = {
		{ "Content-Type", "application/json" }, { NULL, NULL }
	};
	const struct httpd_request req = { .method = "POST",
					   .path = path,
					   .query = "",
					   .body = (const unsigned char *)body,
					   .body_len = strlen(body),
					   .headers = headers };
	struct httpd_response resp = { 0 };
	struct webhook *w = webhook_new(&conf);
	uint64_t start = cost_now(), cost;

	webhook_handle(w, &req, &resp);
	cost = cost_now() - start;
	assert_int_equal(resp.status, 200);
	buf_release(&resp.body);
	webhook_free(w);
	return cost;
}

/* As many elements as an object may have, in an update. */
static uint64_t cost_of(const struct row *row)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();
	cleanup_free char *text = NULL;
	size_t n = (VALUES / 2 - 100) / (size_t)row->values;

	json_put_str(doc, "u", "request", "uid");
	json_put_str(doc, "ns", "request", "namespace");
	json_put_str(doc, "UPDATE", "request", "operation");
	json_put(doc, cost_doc(row->object, n), "request", "object");
	json_put(doc, cost_doc(row->object, n - 1), "request", "oldObject");
	text = json_text(doc);
	return review(row->path, text);
}

TEST(test_reviews)
{
	bool within = true;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct row *row = &rows[i];
		uint64_t cost = cost_of(row);

		within &= cost < MAX_COST;
		if (cost >= MAX_COST)
			print_error("%s: %llu\n", row->what, (unsigned long long)cost);
	}
	assert_true(within);
}

/* Bodies that are not reviews: long strings, numbers, names, nesting. */
TEST(test_bodies)
{
	static const char *const pieces[] = { "[",    "{\"a\":", "\"\\u0041\",", "1,",
					      "1e5,", "[],",     "{},",          "\\",
					      "\"",   "a" };
	cleanup_free char *body = xcalloc(1, BODY + 1);

	for (size_t i = 0; i < N_ELEMENTS(pieces); i++) {
		const char *piece = pieces[i], *start = i % 2 ? "{\"request\":[\"" : "[";
		size_t len = strlen(start), n = strlen(piece);

		memcpy(body, start, len);
		for (; len + n < BODY; len += n)
			memcpy(body + len, piece, n);
		body[len] = '\0';
		assert_true(review(PATH("validate", "trainjob"), body) < MAX_COST);
	}
}

RUN_TESTS(NULL, NULL)
