/* refusal.c - split a Status into errors of fields (client/refusal.h). */
#include "client/refusal.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"

/* Further refusals are dropped. */
enum { MAX_REFUSALS = 100 };

#define DENIED     "denied the request: "
#define UNTYPED    "failed to create typed patch object ("
#define UNDECLARED "field not declared in schema"
#define UNKNOWN    "Unknown field"

static void add(struct refusals *r, const char *path, const char *text)
{
	struct refusal *more;

	for (size_t i = 0; i < r->n; i++)
		if (str_eq(r->list[i].text, text))
			return;
	if (r->n == MAX_REFUSALS)
		return;
	if (r->n == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 8;
		more = arena_alloc(&r->arena, r->cap * sizeof(*more));
		if (r->n)
			memcpy(more, r->list, r->n * sizeof(*more));
		r->list = more;
	}
	r->list[r->n++] = (struct refusal){ path, text };
}

/* The length of a path, "spec.a[0].b" before ": "; 0: the text names no field. */
static size_t path_length(const char *s)
{
	size_t n = strcspn(s, ": ");

	if (s[n] != ':' || s[n + 1] != ' ')
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr(".[]-_/", s[i]))
			return 0;
	return str_starts(s, "spec") || str_starts(s, "metadata") ||
			       str_starts(s, "data") || str_starts(s, "status")
		       ? n
		       : 0;
}

static void read_causes(struct refusals *r, const cJSON *status)
{
	const cJSON *cause;

	json_each(cause, json_get(status, "details", "causes")) {
		const char *field = json_str(cause, "field");
		const char *text = json_str(cause, "message");

		if (!text || !*text)
			continue;
		if (!field || str_eq(field, "<nil>"))
			field = "";
		field = arena_strdup(&r->arena, field);
		add(r, field,
		    *field ? arena_printf(&r->arena, "%s: %s", field, text)
			   : arena_strdup(&r->arena, text));
	}
}

/* A hint about fields that our CRDs have and upstream's released ones lack, or "". */
static const char *newer(const char *path)
{
	static const char *const fields[] = { "spec.trainer.resourceClaimsPerNode",
					      "resourceClaims" };

	for (size_t i = 0; i < N_ELEMENTS(fields); i++)
		if (strstr(path, fields[i]))
			return ": the TrainJob CRD in the cluster lacks it: run "
			       "'kftrainer install', or remove the field";
	return "";
}

/* Parse: strict decoding error: unknown field "spec.a", duplicate field "spec.b" */
static void read_strict(struct refusals *r, const char *message)
{
	static const struct {
		const char *words, *type;
	} kinds[] = { { "unknown field \"", UNKNOWN },
		      { "duplicate field \"", "Duplicate field" } };
	const char *s = strstr(message, "strict decoding error: ");

	for (; s && *s; s++)
		for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
			const char *path = str_after(s, kinds[i].words);

			if (!path)
				continue;
			path = str_slice(&r->arena, path, strcspn(path, "\""));
			add(r, path,
			    arena_printf(&r->arena, "%s: %s%s", path, kinds[i].type,
					 i ? "" : newer(path)));
		}
}

bool refusal_is_untyped(const cJSON *status)
{
	const char *message = json_str(status, "message");

	return message && str_starts(message, UNTYPED);
}

static const char *untyped_words(struct arena *arena, const char *s, size_t len)
{
	const char *text = str_slice(arena, s, len);
	const char *got = strstr(text, ", got &value."); /* a Go value as %#v prints it */

	if (str_eq(text, UNDECLARED))
		return UNKNOWN;
	return got ? str_slice(arena, text, (size_t)(got - text)) : text;
}

/* Parse: ...): .a[name="b"].c: why, or ...): errors:\n  .a: why\n  .b: why */
static void read_untyped(struct refusals *r, const char *message, const cJSON *obj)
{
	const char *s = strstr(message, "): ");

	for (s = s ? s + 3 : ""; *s; s += *s == '\n') {
		size_t len = strcspn(s, "\n"), in = strspn(s, " "), n;
		const char *path, *why;

		n = refusal_path_length(s + in);
		if (n) {
			path = refusal_path(&r->arena, obj, s + in, n);
			why = untyped_words(&r->arena, s + in + n + 2, len - in - n - 2);
			add(r, path,
			    arena_printf(&r->arena, "%s: %s%s", path, why,
					 str_eq(why, UNKNOWN) ? newer(path) : ""));
		}
		s += len;
	}
}

/* The next error in "a, spec.b: ..., spec.c: ...", or NULL. */
static const char *next_in_list(const char *s)
{
	while ((s = strstr(s, ", "))) {
		s += 2;
		if (path_length(s))
			return s;
	}
	return NULL;
}

/* Upstream's webhook writes one field with a capital letter. */
static const char *spelt_right(const char *path)
{
	return str_eq(path, "spec.RuntimeRef") ? "spec.runtimeRef" : path;
}

static void read_list(struct refusals *r, const char *s)
{
	size_t len = strlen(s);
	const char *next;

	if (s[0] == '[' && s[len - 1] == ']')
		s = str_slice(&r->arena, s + 1, len - 2);
	for (; s && path_length(s); s = next) {
		next = next_in_list(s);
		add(r, spelt_right(str_slice(&r->arena, s, path_length(s))),
		    next ? str_slice(&r->arena, s, (size_t)(next - s) - 2)
			 : arena_strdup(&r->arena, s));
	}
}

/* Cut off the webhook's name, so that the text begins with the field. */
static void read_denial(struct refusals *r, const char *message)
{
	const char *text = strstr(message, DENIED);

	if (!str_starts(message, "admission webhook ") || !text)
		return;
	text += strlen(DENIED);
	if (*text)
		read_list(r, text);
}

void refusals_read(struct refusals *ret, const cJSON *status, const cJSON *obj,
		   const char *words)
{
	const char *message = json_str(status, "message");

	*ret = (struct refusals){ 0 };
	read_causes(ret, status);
	if (message && !ret->n)
		read_strict(ret, message);
	if (message && !ret->n && refusal_is_untyped(status))
		read_untyped(ret, message, obj);
	if (message && !ret->n)
		read_denial(ret, message);
	if (!ret->n)
		add(ret, "",
		    arena_strdup(&ret->arena, message && *message ? message : words));
}

void refusals_release(struct refusals *r)
{
	arena_clear(&r->arena);
	*r = (struct refusals){ 0 };
}
