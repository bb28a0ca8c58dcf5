/* field.c - collects and prints errors of fields (api/field.h). */
#include "api/field.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum { VALUE_MAX = 200 };

static const char *const type_names[] = {
	[FIELD_REQUIRED] = "Required value",
	[FIELD_INVALID] = "Invalid value",
	[FIELD_TYPE_INVALID] = "Invalid value",
	[FIELD_NOT_SUPPORTED] = "Unsupported value",
	[FIELD_DUPLICATE] = "Duplicate value",
	[FIELD_FORBIDDEN] = "Forbidden",
	[FIELD_TOO_LONG] = "Too long",
	[FIELD_TOO_MANY] = "Too many",
	[FIELD_UNKNOWN] = "Unknown field",
	[FIELD_INTERNAL] = "Internal error",
};

const char *field_error_type_name(enum field_error_type type)
{
	return type_names[type];
}

/* The types whose message omits the value. */
static bool shows_value(enum field_error_type type)
{
	return type != FIELD_REQUIRED && type != FIELD_FORBIDDEN &&
	       type != FIELD_TOO_LONG && type != FIELD_UNKNOWN && type != FIELD_INTERNAL;
}

/* The value as JSON; a long one is cut between characters and ends with "...". */
static const char *value_text(struct arena *arena, const cJSON *value)
{
	cleanup_buf struct buf text = { .max = 4 * VALUE_MAX };

	json_print(&text, value);
	if (!text.overflowed && text.len <= VALUE_MAX)
		return arena_strdup(arena, text.data ? (const char *)text.data : "");
	return arena_printf(arena, "%.*s...",
			    (int)utf8_cut(text.data, text.len, VALUE_MAX),
			    (const char *)text.data);
}

bool field_errors_full(const struct field_errors *errs)
{
	return errs->max && errs->n >= errs->max;
}

void field_error_add(struct field_errors *errs, enum field_error_type type,
		     const char *path, const cJSON *value, const char *detail, ...)
{
	cleanup_free char *text = NULL;
	struct field_error *e;
	va_list ap;

	if (field_errors_full(errs)) {
		errs->more++;
		return;
	}
	va_start(ap, detail);
	text = xvasprintf(detail, ap);
	va_end(ap);
	if (errs->n == errs->cap) {
		errs->cap = errs->cap ? 2 * errs->cap : 8;
		errs->list = xreallocarray(errs->list, errs->cap, sizeof(*errs->list));
	}
	e = &errs->list[errs->n++];
	e->type = type;
	e->path = arena_strdup(&errs->arena, path);
	e->value = value && shows_value(type) ? value_text(&errs->arena, value) : NULL;
	e->detail = arena_strdup(&errs->arena, text);
}

const char *field_child(struct field_errors *errs, const char *path, const char *key)
{
	if (!*path)
		return arena_strdup(&errs->arena, key);
	return arena_printf(&errs->arena, "%s.%s", path, key);
}

const char *field_index(struct field_errors *errs, const char *path, size_t i)
{
	return arena_printf(&errs->arena, "%s[%zu]", path, i);
}

const char *field_key(struct field_errors *errs, const char *path, const char *key)
{
	return arena_printf(&errs->arena, "%s[%s]", path, key);
}

void field_error_print(struct buf *out, const struct field_error *e)
{
	if (*e->path)
		buf_printf(out, "%s: ", e->path);
	buf_adds(out, field_error_type_name(e->type));
	if (e->value)
		buf_printf(out, ": %s", e->value);
	if (*e->detail)
		buf_printf(out, ": %s", e->detail);
}

void field_errors_release(struct field_errors *errs)
{
	free(errs->list);
	arena_clear(&errs->arena);
	*errs = (struct field_errors){ 0 };
}

bool field_path_same(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += *a == ']';
		b += *b == ']';
		if (*a != *b && !(*a && *b && strchr("[.", *a) && strchr("[.", *b)))
			return false;
		if (!*a || !*b)
			return *a == *b;
	}
}
