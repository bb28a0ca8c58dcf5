/*
 * refusal.h - what an API server has against an object, field by field.
 *
 * Pure. From a metav1.Status: the causes of a 422, the fields that strict decoding
 * (fieldValidation=Strict) does not know or finds twice, and what an admission webhook
 * denies, whose words begin with a field: "spec.runtimeRef: Invalid value: ...", or
 * several of them, "[spec.a: ..., spec.b: ...]", as apimachinery's ErrorList has it.
 */
#ifndef CLIENT_REFUSAL_H
#define CLIENT_REFUSAL_H

#include "base/arena.h"
#include "base/json.h"

struct refusal {
	const char *path; /* "spec.trainer.env[1].name"; "" when it names no field */
	const char *text; /* all that is said of it, the path in front */
};

struct refusals {
	struct arena arena;
	struct refusal *list; /* in the arena, in the API server's order */
	size_t n, cap;
};

/* At least one: where the Status tells of no field, its message; without one, `words`. */
void refusals_read(struct refusals *ret, const cJSON *status, const char *words);
void refusals_release(struct refusals *r);
#define cleanup_refusals __attribute__((cleanup(refusals_release)))

/* Are two paths the same field? "limits[cpu]" is "limits.cpu". */
bool field_path_same(const char *a, const char *b);

#endif
