/*
 * The body of an AdmissionReview, whoever sent it: each of the four webhooks answers
 * with one AdmissionReview that echoes the uid, twice the same, and gives a patch only
 * where it allows. And the same bytes as a report of progress.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "manager/admission.h"
#include "manager/webhook.h"
#include "tests/fuzz/fuzz.h"
#include "trainer/progress.h"
#include "trainer/sdkcheck.h"

#define PATH(what, kind) "/" what "-trainer-kubeflow-org-v1alpha1-" kind

static const char *const paths[] = {
	PATH("mutate", "trainjob"),
	PATH("validate", "trainjob"),
	PATH("validate", "trainingruntime"),
	PATH("validate", "clustertrainingruntime"),
};

static void check_patch(const cJSON *response, bool allowed)
{
	const char *text = json_str(response, "patch");
	cleanup_buf struct buf patch = { .max = 64 * 1024 * 1024 };
	cleanup_json cJSON *ops = NULL;
	struct error err = { 0 };

	if (!text)
		return;
	FUZZ_CHECK(allowed && str_eq(json_str(response, "patchType"), "JSONPatch"));
	FUZZ_CHECK(!base64_decode(&patch, text, strlen(text), &err));
	FUZZ_CHECK(!json_parse(&ops, patch.data, patch.len, &err));
	FUZZ_CHECK(cJSON_IsArray(ops) && ops->child);
}

static void check_answer(const struct httpd_response *resp, const char *uid)
{
	cleanup_json cJSON *answer = NULL;
	const cJSON *response;
	struct error err = { 0 };
	bool allowed;

	FUZZ_CHECK(resp->status == 200 && !resp->body.overflowed);
	FUZZ_CHECK(!json_parse(&answer, resp->body.data, resp->body.len, &err));
	response = json_get((const cJSON *)answer, "response");
	FUZZ_CHECK(str_eq(json_str(response, "uid"), uid));
	allowed = json_bool(response, false, "allowed");
	FUZZ_CHECK(!allowed || *uid);
	FUZZ_CHECK(allowed == (json_int(response, 0, "status", "code") == 200));
	FUZZ_CHECK(allowed || json_str(response, "status", "message"));
	check_patch(response, allowed);
}

static void review(struct webhook *w, const char *path, const uint8_t *data, size_t size)
{
	static const struct httpd_header headers[] = {
		{ "Content-Type", "application/json" }, { NULL, NULL }
	};
	const struct httpd_request req = { .method = "POST",
					   .path = path,
					   .query = "",
					   .body = data,
					   .body_len = size,
					   .headers = headers };
	struct httpd_response resp = { 0 };
	cleanup_admission struct admission_request asked = { 0 };
	struct error err = { 0 };
	int ignored = admission_read(&asked, data, size, &err);

	(void)ignored;
	webhook_handle(w, &req, &resp);
	check_answer(&resp, asked.uid);
	buf_release(&resp.body);
}

static void report(const uint8_t *data, size_t size)
{
	cleanup_json cJSON *doc = NULL, *progress = NULL, *echo = NULL, *again = NULL;
	cleanup_json cJSON *warnings = cJSON_CreateArray();
	struct error err = { 0 };

	if (json_parse(&doc, data, size, &err))
		return;
	sdkcheck_runtime(doc, warnings);
	if (progress_read(&progress, doc, &err)) {
		FUZZ_CHECK(!progress && err.msg[0]);
		return;
	}
	echo = progress_echo(progress);
	FUZZ_CHECK(!progress_read(&again, echo, &err));
	FUZZ_CHECK(!progress ? !again : json_equal(progress, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct webhook_conf conf;
	struct webhook *w = webhook_new(&conf);

	for (size_t i = 0; i < N_ELEMENTS(paths); i++)
		review(w, paths[i], data, size);
	webhook_free(w);
	report(data, size);
	return 0;
}
