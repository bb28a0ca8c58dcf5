/*
 * refusal.h - what an API server has against an object, field by field.
 *
 * Pure. From a metav1.Status: the causes of a 422, the fields that strict decoding
 * (fieldValidation=Strict) does not know or finds twice, what server-side apply finds
 * that does not fit the schema, and what an admission webhook denies, whose words begin
 * with a field: "spec.runtimeRef: Invalid value: ...", or several of them, "[spec.a: ...,
 * spec.b: ...]", as apimachinery's ErrorList has it.
 */
#ifndef CLIENT_REFUSAL_H
#define CLIENT_REFUSAL_H

#include "base/arena.h"
#include "base/json.h"

struct refusal {
	const char *path; /* "spec.trainer.env[1].name"; "" when it names no field */
	const char *text; /* the message, with the path in front */
};

struct refusals {
	struct arena arena;
	struct refusal *list; /* in the arena, in the API server's order */
	size_t n, cap;
};

/*
 * At least one: where the Status tells of no field, its message; without one, `words`.
 * `obj` is what was refused: server-side apply tells its lists' elements by their keys.
 */
void refusals_read(struct refusals *ret, const cJSON *status, const cJSON *obj,
		   const char *words);
void refusals_release(struct refusals *r);
#define cleanup_refusals __attribute__((cleanup(refusals_release)))

/* Does the object not fit the schema? Of server-side apply that is a 500. */
bool refusal_is_untyped(const cJSON *status);

/*
 * ".a[name="b"].c" in front of ": ", as server-side apply writes it, or 0; and such a path
 * as "a[1].c", as all others are. What the object does not have stays as it is.
 */
size_t refusal_path_length(const char *s);
const char *refusal_path(struct arena *arena, const cJSON *obj, const char *s,
			 size_t len);

#endif
