/*
 * refusal.h - split an API server's refusal of an object into errors of fields. Pure.
 *
 * Reads a metav1.Status: the causes of a 422; unknown and duplicate fields of strict
 * decoding (fieldValidation=Strict); schema errors of server-side apply; and denials of
 * admission webhooks that begin with a field: "spec.runtimeRef: Invalid value: ...", or
 * several, "[spec.a: ..., spec.b: ...]", as apimachinery's ErrorList prints them.
 */
#ifndef CLIENT_REFUSAL_H
#define CLIENT_REFUSAL_H

#include "base/arena.h"
#include "base/json.h"

struct refusal {
	const char *path; /* "spec.trainer.env[1].name"; "": no field */
	const char *text; /* the message, which begins with the path */
};

struct refusals {
	struct arena arena;
	struct refusal *list; /* in the arena, in the API server's order */
	size_t n, cap;
};

/*
 * Always returns at least one refusal: the message of a Status that names no field;
 * without a message, `words`. `obj` is the refused object: server-side apply identifies
 * elements of its lists by their keys. Release with refusals_release().
 */
void refusals_read(struct refusals *ret, const cJSON *status, const cJSON *obj,
		   const char *words);
void refusals_release(struct refusals *r);
#define cleanup_refusals __attribute__((cleanup(refusals_release)))

/* Is this a schema error of server-side apply, which has the status 500? */
bool refusal_is_untyped(const cJSON *status);

/*
 * The length of a path of server-side apply, ".a[name="b"].c" before ": "; 0: none. And
 * the path as all others are written, "a[1].c", in the arena: elements that the object
 * lacks stay as they are.
 */
size_t refusal_path_length(const char *s);
const char *refusal_path(struct arena *arena, const cJSON *obj, const char *s,
			 size_t len);

#endif
