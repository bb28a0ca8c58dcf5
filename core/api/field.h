/*
 * field.h - errors of fields: collect and print them.
 *
 * The shape and wording follow k8s.io/apimachinery/pkg/util/validation/field:
 *
 *     spec.trainer.numNodes: Invalid value: -1: should be at least 0
 *     spec.trainer.env[1]: Forbidden: ...
 *
 * A path is text: keys joined by '.', list indexes "[2]", map keys "[a/b]".
 */
#ifndef API_FIELD_H
#define API_FIELD_H

#include "base/arena.h"
#include "base/json.h"

enum field_error_type {
	FIELD_REQUIRED,      /* "Required value" */
	FIELD_INVALID,       /* "Invalid value" */
	FIELD_TYPE_INVALID,  /* "Invalid value" of the wrong JSON type (schema) */
	FIELD_NOT_SUPPORTED, /* "Unsupported value" */
	FIELD_DUPLICATE,     /* "Duplicate value" */
	FIELD_FORBIDDEN,     /* "Forbidden"; no value is shown */
	FIELD_TOO_LONG,      /* "Too long"; no value is shown */
	FIELD_TOO_MANY,      /* "Too many" */
	FIELD_UNKNOWN,       /* "Unknown field"; ours: pruned by an API server */
	FIELD_INTERNAL,      /* "Internal error" */
};

struct field_error {
	enum field_error_type type;
	const char *path;  /* in the list's arena */
	const char *value; /* as JSON on one line, shortened; NULL: not shown */
	const char *detail;
};

struct field_errors {
	struct arena arena;
	struct field_error *list; /* in the order of adding */
	size_t n, cap;
	size_t max;  /* errors to store; 0: all */
	size_t more; /* further errors, which were only counted */
};

/* value may be NULL. detail: printf-like; "" for none. */
void field_error_add(struct field_errors *errs, enum field_error_type type,
		     const char *path, const cJSON *value, const char *detail, ...)
	PRINTF_LIKE(5, 6);

/* Has the list reached `max`, so that further errors are only counted? */
bool field_errors_full(const struct field_errors *errs);

/* "path.key", "path[i]", "path[key]"; an empty path gives "key". In the list's arena. */
const char *field_child(struct field_errors *errs, const char *path, const char *key);
const char *field_index(struct field_errors *errs, const char *path, size_t i);
const char *field_key(struct field_errors *errs, const char *path, const char *key);

/* One error as one line, without newline: "path: Invalid value: V: detail". */
void field_error_print(struct buf *out, const struct field_error *e);
const char *field_error_type_name(enum field_error_type type); /* "Invalid value" */

void field_errors_release(struct field_errors *errs);
#define cleanup_field_errors __attribute__((cleanup(field_errors_release)))

/* Are two paths the same field? "limits[cpu]" is "limits.cpu". */
bool field_path_same(const char *a, const char *b);

#endif
