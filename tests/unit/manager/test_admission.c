/* Rules: controller-runtime pkg/webhook/admission. */

#include "base/cleanup.h"
#include "base/str.h"
#include "manager/admission.h"
#include "tests/unit/unit.h"

#define REVIEW(rest) \
	"{\"apiVersion\": \"admission.k8s.io/v1\", \"kind\": \"AdmissionReview\"" rest "}"
#define REQUEST(rest) REVIEW(", \"request\": {\"uid\": \"u-1\"" rest "}")

static cJSON *doc(const char *text)
{
	struct error err = { 0 };
	cJSON *ret = NULL;

	if (json_parse(&ret, text, strlen(text), &err))
		fail_msg("%s: %s", text, err.msg);
	return ret;
}

TEST(test_what_is_asked)
{
	static const char body[] =
		REQUEST(", \"operation\": \"UPDATE\", \"namespace\": \"ns\", "
			"\"name\": \"a\", \"subResource\": \"status\", \"object\": "
			"{\"a\": 1}, \"oldObject\": {\"a\": 2}");
	cleanup_admission struct admission_request req = { 0 };
	struct error err = { 0 };

	assert_int_equal(admission_read(&req, body, strlen(body), &err), 0);
	assert_string_equal(req.uid, "u-1");
	assert_int_equal(req.operation, ADMISSION_UPDATE);
	assert_string_equal(req.ns, "ns");
	assert_string_equal(req.name, "a");
	assert_string_equal(req.subresource, "status");
	assert_int_equal(json_int(req.object, 0, "a"), 1);
	assert_int_equal(json_int(req.old, 0, "a"), 2);
}

#define X32    "0123456789abcdef0123456789abcdef"
#define X129   X32 X32 X32 X32 "x"
#define OBJECT ", \"operation\": \"CREATE\", \"object\": {}"

/* Whatever comes: an error with the uid as far as there is one, and a whole answer. */
TEST(test_what_is_no_question)
{
	static const struct {
		const char *body, *want; /* NULL: fine */
		const char *uid;
	} rows[] = {
		{ REQUEST(OBJECT), NULL, "u-1" },
		{ "{\"request\": {\"uid\": \"u\"" OBJECT "}}", NULL, "u" },
		{ "", "request body is empty", "" },
		{ "{", "1:2: ", "" },
		{ "[]", "request: missing", "" },
		{ "null", "request: missing", "" },
		{ "\"a\"", "request: missing", "" },
		{ "{}", "request: missing", "" },
		{ REVIEW(""), "request: missing", "" },
		{ REVIEW(", \"request\": []"), "request: missing", "" },
		{ REVIEW(", \"request\": {\"operation\": \"CREATE\"}"), "request.uid",
		  "" },
		{ REVIEW(", \"request\": {\"uid\": 7" OBJECT "}"), "request.uid", "" },
		{ REVIEW(", \"request\": {\"uid\": \"" X129 "\"" OBJECT "}"),
		  "request.uid", "" },
		{ REQUEST(""), "unknown operation \"\"", "u-1" },
		{ REQUEST(", \"operation\": \"create\""), "unknown operation \"create\"",
		  "u-1" },
		{ REQUEST(", \"operation\": \"CREATE\""), "request.object: there is no",
		  "u-1" },
		{ REQUEST(", \"operation\": \"CREATE\", \"object\": null"),
		  "request.object: there is no", "u-1" },
		{ REQUEST(", \"operation\": \"CREATE\", \"object\": [1]"),
		  "request.object is not an object", "u-1" },
		{ REQUEST(", \"operation\": \"UPDATE\", \"object\": {}"),
		  "request.oldObject: there is no", "u-1" },
		{ REQUEST(", \"operation\": \"UPDATE\", \"object\": {}, \"oldObject\": 1"),
		  "request.oldObject is not an object", "u-1" },
		{ REQUEST(", \"operation\": \"DELETE\", \"oldObject\": {}"), NULL,
		  "u-1" },
		{ REQUEST(", \"operation\": \"CONNECT\""), NULL, "u-1" },
		{ REQUEST(OBJECT ", \"object\": {}"), "duplicate key", "" },
		{ "{\"apiVersion\": \"admission.k8s.io/v2\", \"request\": "
		  "{\"uid\": \"u\"}}",
		  "of another version", "u" },
		{ "{\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u-7\",\"a\":"
		  "\"\\u0000\"}}",
		  "NUL", "u-7" },
		{ "{\"request\":{\"uid\":\"u", "cannot read", "u" },
		{ "{\"request\":{\"uid\":\"\\n\",", "cannot read", "" },
		{ "{\"request\":{\"uid\":\"", "cannot read", "" },
		{ "{\"kind\": \"Pod\", \"request\": {\"uid\": \"u\"}}",
		  "not an AdmissionReview", "u" },
		{ "{\"a\": \"\xff\"}", "UTF-8", "" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_admission struct admission_request req = { 0 };
		cleanup_admission_answer struct admission_answer answer = { 0 };
		cleanup_buf struct buf out = { .max = 65536 };
		cleanup_json cJSON *said = NULL;
		struct error err = { 0 };
		int rc = admission_read(&req, rows[i].body, strlen(rows[i].body), &err);

		if (rc != (rows[i].want ? -1 : 0) ||
		    (rc && !strstr(err.msg, rows[i].want)))
			fail_msg("%s: wanted %s, got %s", rows[i].body, rows[i].want,
				 err.msg);
		assert_string_equal(req.uid, rows[i].uid);
		if (rc)
			admission_refuse(&answer, 400, "%s", err.msg);
		admission_print(&out, &req, &answer);
		said = doc((const char *)out.data);
		assert_string_equal(json_str(said, "response", "uid"), rows[i].uid);
		assert_int_equal(json_bool(said, rc, "response", "allowed"), !rc);
		assert_int_equal(json_int(said, 0, "response", "status", "code"),
				 rc ? 400 : 200);
	}
}

TEST(test_versions_are_answered_in_kind)
{
	static const char body[] =
		"{\"apiVersion\": \"admission.k8s.io/v1beta1\", \"kind\": "
		"\"AdmissionReview\", \"request\": {\"uid\": \"u\"" OBJECT "}}";
	cleanup_admission struct admission_request req = { 0 };
	cleanup_admission_answer struct admission_answer answer = { 0 };
	cleanup_buf struct buf out = { .max = 65536 };
	struct error err = { 0 };

	assert_int_equal(admission_read(&req, body, strlen(body), &err), 0);
	admission_print(&out, &req, &answer);
	assert_string_equal(
		(const char *)out.data,
		"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"
		"v1beta1\",\"response\":{\"uid\":\"u\",\"allowed\":true,\"status\":{"
		"\"metadata\":{},\"code\":200}}}\n");
}

TEST(test_answers)
{
	static const struct {
		int code;
		const char *reason;
	} rows[] = {
		{ 400, NULL },
		{ 403, "Forbidden" },
		{ 413, "RequestEntityTooLarge" },
		{ 500, "InternalError" },
	};
	struct admission_request none = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_admission_answer struct admission_answer answer = {
			.patch = doc("[{\"op\": \"remove\", \"path\": \"/a\"}]"),
			.warnings = doc("[\"a\\tb\\n\"]"),
		};
		cleanup_buf struct buf out = { .max = 65536 };
		cleanup_json cJSON *said = NULL;

		admission_refuse(&answer, rows[i].code, "no %s, \x1b\xc3", "way");
		admission_print(&out, &none, &answer);
		said = doc((const char *)out.data);
		assert_string_equal(json_str(said, "apiVersion"), "admission.k8s.io/v1");
		assert_true(str_eq(json_str(said, "response", "status", "reason"),
				   rows[i].reason));
		assert_string_equal(json_str(said, "response", "status", "message"),
				    "no way, \\x1b\\xc3");
		assert_null(json_get(said, "response", "patch"));
		assert_true(str_eq(cJSON_GetStringValue(cJSON_GetArrayItem(
					   json_get(said, "response", "warnings"), 0)),
				   "a b\\x0a"));
	}
}

TEST(test_the_patch_is_base64)
{
	cleanup_admission_answer struct admission_answer answer = {
		.patch = doc("[{\"op\":\"remove\",\"path\":\"/a\"}]"),
	};
	cleanup_buf struct buf out = { .max = 65536 }, patch = { .max = 65536 };
	cleanup_json cJSON *said = NULL;
	struct admission_request none = { 0 };
	struct error err = { 0 };
	const char *text;

	admission_print(&out, &none, &answer);
	said = doc((const char *)out.data);
	assert_string_equal(json_str(said, "response", "patchType"), "JSONPatch");
	text = json_str(said, "response", "patch");
	assert_int_equal(base64_decode(&patch, text, strlen(text), &err), 0);
	assert_string_equal((const char *)patch.data,
			    "[{\"op\":\"remove\",\"path\":\"/a\"}]");
}

RUN_TESTS(NULL, NULL)
