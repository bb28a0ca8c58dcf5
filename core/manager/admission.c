/* admission.c - read AdmissionReviews and print the answers (manager/admission.h). */
#include "manager/admission.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

#define GROUP "admission.k8s.io"

enum { UID_MAX = 128, MESSAGE_MAX = 65536, PATCH_MAX = 4 * 1024 * 1024 };

static const char *const versions[] = { GROUP "/v1", GROUP "/v1beta1" };
static const char *const operations[] = {
	[ADMISSION_CREATE] = "CREATE",
	[ADMISSION_UPDATE] = "UPDATE",
	[ADMISSION_DELETE] = "DELETE",
	[ADMISSION_CONNECT] = "CONNECT",
};

/* ---- the request ----------------------------------------------------------------- */

static int read_version(struct admission_request *req, struct error *err)
{
	const char *kind = json_str(req->review, "kind");
	const char *version = json_str(req->review, "apiVersion");

	if (kind && !str_eq(kind, "AdmissionReview"))
		return error_set(err, ERR_FORMAT, "not an AdmissionReview");
	if (!version)
		return 0;
	for (size_t i = 0; i < N_ELEMENTS(versions); i++)
		if (str_eq(version, versions[i])) {
			req->api_version = versions[i];
			return 0;
		}
	return error_set(err, ERR_FORMAT,
			 "an AdmissionReview of " GROUP
			 "/v1 is expected, not of another version");
}

static const char *text_of(const cJSON *request, const char *key)
{
	const char *s = json_str(request, key);

	return s ? s : "";
}

static int read_operation(struct admission_request *req, const char *text,
			  struct error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(operations); i++)
		if (str_eq(text, operations[i])) {
			req->operation = (enum admission_operation)i;
			return 0;
		}
	return error_set(err, ERR_FORMAT,
			 "request.operation: unknown operation \"%.20s\"", text);
}

static int read_documents(struct admission_request *req, const cJSON *request,
			  struct error *err)
{
	req->object = json_get(request, "object");
	req->old = json_get(request, "oldObject");
	if (req->object && !cJSON_IsObject(req->object))
		return error_set(err, ERR_FORMAT, "request.object is not an object");
	if (req->old && !cJSON_IsObject(req->old))
		return error_set(err, ERR_FORMAT, "request.oldObject is not an object");
	if (req->operation > ADMISSION_UPDATE)
		return 0;
	if (!req->object)
		return error_set(err, ERR_FORMAT,
				 "request.object: there is no content to decode");
	if (req->operation == ADMISSION_UPDATE && !req->old)
		return error_set(err, ERR_FORMAT,
				 "request.oldObject: there is no content to decode");
	return 0;
}

void admission_find_uid(struct admission_request *req, const void *body, size_t len)
{
	static const char before[] = "\"request\":{\"uid\":\"";
	char uid[UID_MAX + 1] = "";
	const char *p = memmem(body, len < 256 ? len : 256, before, strlen(before));
	size_t n = 0;

	if (!p)
		return;
	p += strlen(before);
	while (p + n < (const char *)body + len && n < UID_MAX &&
	       (isalnum((unsigned char)p[n]) || p[n] == '-'))
		n++;
	memcpy(uid, p, n);
	req->review = cJSON_CreateObject();
	json_put_str(req->review, uid, "request", "uid");
	req->uid = json_str(req->review, "request", "uid");
}

int admission_read(struct admission_request *req, const void *body, size_t len,
		   struct error *err)
{
	const cJSON *request;
	const char *uid;

	*req = (struct admission_request){
		.api_version = versions[0],
		.uid = "",
		.ns = "",
		.name = "",
		.subresource = "",
	};
	if (!len)
		return error_set(err, ERR_FORMAT, "request body is empty");
	if (json_parse(&req->review, body, len, err)) {
		admission_find_uid(req, body, len);
		return error_wrap(err, "cannot read the AdmissionReview");
	}
	request = json_get(req->review, "request");
	uid = json_str(request, "uid");
	if (uid && strlen(uid) <= UID_MAX)
		req->uid = uid;
	if (read_version(req, err))
		return -1;
	if (!cJSON_IsObject(request))
		return error_set(err, ERR_FORMAT, "request: missing");
	if (!*req->uid)
		return error_set(err, ERR_FORMAT,
				 "request.uid: missing, or longer than %d characters",
				 UID_MAX);
	req->ns = text_of(request, "namespace");
	req->name = text_of(request, "name");
	req->subresource = text_of(request, "subResource");
	if (read_operation(req, text_of(request, "operation"), err))
		return -1;
	return read_documents(req, request, err);
}

void admission_release(struct admission_request *req)
{
	cJSON_Delete(req->review);
	*req = (struct admission_request){ 0 };
}

/* ---- the answer ------------------------------------------------------------------ */

void admission_refuse(struct admission_answer *a, int code, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	a->code = code;
	buf_clear(&a->message);
	a->message.max = MESSAGE_MAX;
	buf_adds(&a->message, text);
}

void admission_answer_release(struct admission_answer *a)
{
	buf_release(&a->message);
	cJSON_Delete(a->patch);
	cJSON_Delete(a->warnings);
	*a = (struct admission_answer){ 0 };
}

static const char *reason_of(int code)
{
	switch (code) {
	case 403:
		return "Forbidden";
	case 413:
		return "RequestEntityTooLarge";
	case 500:
		return "InternalError";
	default:
		return NULL; /* as upstream for a review that cannot be decoded */
	}
}

static cJSON *status_of(const struct admission_answer *a)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *status = cJSON_CreateObject();

	json_obj(status, "metadata");
	if (a->message.len)
		json_put_str(status,
			     str_visible(&arena, (const char *)a->message.data, true),
			     "message");
	if (reason_of(a->code))
		json_put_str(status, reason_of(a->code), "reason");
	json_put_int(status, a->code ? a->code : 200, "code");
	return status;
}

static void put_patch(cJSON *response, const cJSON *patch)
{
	cleanup_buf struct buf text = { .max = PATCH_MAX };
	cleanup_buf struct buf encoded = { .max = 2 * PATCH_MAX };

	json_print(&text, patch);
	base64_encode(&encoded, text.data, text.len);
	buf_adds(&encoded, "");
	json_put_str(response, (const char *)encoded.data, "patch");
	json_put_str(response, "JSONPatch", "patchType");
}

/* An API server passes on no warning that has control characters. */
static void put_warnings(cJSON *response, const cJSON *warnings)
{
	cleanup_arena struct arena a = { 0 };
	cJSON *list = json_list(response, "warnings");
	const cJSON *w;

	json_each(w, warnings) {
		char *text = str_visible(&a, w->valuestring, false);

		for (char *tab = text; (tab = strchr(tab, '\t'));)
			*tab = ' ';
		cJSON_AddItemToArray(list, cJSON_CreateString(text));
	}
}

void admission_print(struct buf *out, const struct admission_request *req,
		     const struct admission_answer *a)
{
	cleanup_json cJSON *review = cJSON_CreateObject();
	cJSON *response = cJSON_CreateObject();

	json_put_str(review, "AdmissionReview", "kind");
	json_put_str(review, req->api_version ? req->api_version : versions[0],
		     "apiVersion");
	json_put(review, response, "response");
	json_put_str(response, req->uid ? req->uid : "", "uid");
	json_put_bool(response, !a->code, "allowed");
	json_put(response, status_of(a), "status");
	if (!a->code && a->patch && a->patch->child)
		put_patch(response, a->patch);
	if (a->warnings && a->warnings->child)
		put_warnings(response, a->warnings);
	json_print(out, review);
	buf_adds(out, "\n");
}
