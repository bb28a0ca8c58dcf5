/*
 * selector.h - parse and match label and field selectors.
 *
 * Follows k8s.io/apimachinery pkg/labels (Parse) and pkg/fields (ParseSelector): "a=b",
 * "a==b", "a!=b", "a in (b, c)", "a notin (b)", "a", "!a", "a>1", "a<1", joined by
 * commas; fields: only the first three, where a backslash escapes ',', '=' and '\'.
 */
#ifndef API_SELECTOR_H
#define API_SELECTOR_H

#include "base/arena.h"
#include "base/json.h"

enum selector_op {
	SELECTOR_IN, /* "=" and "==" as well */
	SELECTOR_NOT_IN,
	SELECTOR_EXISTS,
	SELECTOR_NOT_EXISTS,
	SELECTOR_GREATER,
	SELECTOR_LESS,
};

struct requirement {
	const char *key;
	enum selector_op op;
	const char *const *values; /* ends with NULL */
	const struct requirement *next;
};

enum { SELECTOR_MAX_BYTES = 65536 };

/* *ret: NULL selects everything. It lives in the arena. ERR_INVALID, ERR_LIMIT. */
MUST_CHECK int selector_labels(struct arena *arena, const char *text,
			       const struct requirement **ret, struct error *err);
MUST_CHECK int selector_fields(struct arena *arena, const char *text,
			       const struct requirement **ret, struct error *err);

/* Does each requirement hold for these labels (an object of strings, or NULL)? */
bool selector_matches(const struct requirement *selector, const cJSON *labels);
/* Does one hold for that value (NULL: absent)? */
bool requirement_holds(const struct requirement *r, const char *value);

#endif
