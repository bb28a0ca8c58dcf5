/*
 * admission.h - AdmissionReview: an API server's request and the answer.
 *
 * admission.c is the only file with its keys (admission.k8s.io/v1; v1beta1 has the
 * same keys and is answered as v1beta1). Answers follow controller-runtime's
 * pkg/webhook/admission: always one AdmissionReview with HTTP 200; a review that cannot
 * be read is refused with code 400.
 */
#ifndef MANAGER_ADMISSION_H
#define MANAGER_ADMISSION_H

#include "base/json.h"

enum admission_operation {
	ADMISSION_CREATE,
	ADMISSION_UPDATE,
	ADMISSION_DELETE,
	ADMISSION_CONNECT,
};

/* Strings and documents belong to `review`. */
struct admission_request {
	cJSON *review;           /* owned */
	const char *api_version; /* of the review; never NULL after admission_read() */
	const char *uid;         /* never NULL after admission_read() */
	enum admission_operation operation;
	const char *ns, *name, *subresource; /* "" when absent */
	const cJSON *object, *old;           /* NULL: absent or null */
};

/*
 * Also after a failure (ERR_FORMAT, ERR_LIMIT), *ret can be passed to admission_print(),
 * and must be released.
 */
MUST_CHECK int admission_read(struct admission_request *ret, const void *body, size_t len,
			      struct error *err);
/*
 * The API server requires the uid in the answer, also to a review that is not parsed
 * (too large, NUL in a string). It prints the uid first.
 */
void admission_find_uid(struct admission_request *req, const void *body, size_t len);
void admission_release(struct admission_request *req);
#define cleanup_admission __attribute__((cleanup(admission_release)))

/* `{ 0 }` allows the request. */
struct admission_answer {
	int code;           /* 0: allowed; else 400, 403, 413, 500 */
	struct buf message; /* reason of the refusal; owned */
	cJSON *patch;       /* a JSON Patch (RFC 6902), owned; NULL or empty: none */
	cJSON *warnings;    /* array of strings, owned; NULL: none */
};
/* Sets code and message, in place of any before. */
void admission_refuse(struct admission_answer *a, int code, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
void admission_answer_release(struct admission_answer *a);
#define cleanup_admission_answer __attribute__((cleanup(admission_answer_release)))

/* Appends the answer as JSON text. The patch is left out of a refusal. */
void admission_print(struct buf *out, const struct admission_request *req,
		     const struct admission_answer *a);

#endif
