/* shape.c - check the JSON types of the members that we use (trainer/shape.h). */
#include "trainer/shape.h"

#include <stdlib.h>

#include "api/quantity.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

/* The current path: a list of steps on the stack, printed only for an error. */
struct step {
	const struct step *up;
	const char *key; /* NULL: a list index */
	size_t index;
	bool map_key;
};

struct walk {
	struct field_errors *errs;
	const char *root;
	bool rewrite;
};

static void check_members(const struct walk *w, const struct step *at, const cJSON *obj,
			  const struct shape *members);

static void print_step(struct buf *b, const struct step *at)
{
	if (!at)
		return;
	print_step(b, at->up);
	if (!at->key)
		buf_printf(b, "[%zu]", at->index);
	else if (at->map_key)
		buf_printf(b, "[%s]", at->key);
	else
		buf_printf(b, "%s%s", b->len ? "." : "", at->key);
}

static void complain(const struct walk *w, const struct step *at,
		     enum field_error_type type, const cJSON *value, const char *detail)
{
	cleanup_buf struct buf path = { .max = 4096 };

	buf_adds(&path, w->root);
	print_step(&path, at);
	field_error_add(w->errs, type, (const char *)path.data, value, "%s", detail);
}

static void wrong(const struct walk *w, const struct step *at, const cJSON *value,
		  const char *wanted)
{
	complain(w, at, FIELD_TYPE_INVALID, value, wanted);
}

static void too_many(const struct walk *w, const struct step *at, const cJSON *list,
		     int max)
{
	cleanup_json cJSON *n = json_new_int(cJSON_GetArraySize(list));
	char text[64];

	snprintf(text, sizeof(text), "must have at most %d items", max);
	complain(w, at, FIELD_TOO_MANY, n, text);
}

/* Turns the node into a string, in place. */
static void rewrite(cJSON *node, const char *text)
{
	char *old = node->valuestring;

	node->valuestring = xstrdup(text); /* first: `text` may be the old value */
	node->type = cJSON_String;
	free(old);
}

static void check_quantity(const struct walk *w, const struct step *at, const cJSON *node)
{
	struct error err = { 0 };
	char text[QUANTITY_TEXT_SIZE];
	struct quantity q;
	const char *sent;

	if (cJSON_IsNull(node))
		return;
	if (quantity_of(&q, node, &err)) {
		wrong(w, at, node, err.msg);
		return;
	}
	sent = quantity_client_text(&q, node, text);
	if (w->rewrite && !str_eq(cJSON_GetStringValue(node), sent))
		rewrite((cJSON *)node, sent);
}

static void check_int(const struct walk *w, const struct step *at, const cJSON *node,
		      enum shape_type type)
{
	int64_t v;

	if (!json_int_of(node, &v))
		wrong(w, at, node, "must be an integer");
	else if (type == SHAPE_COUNT && (v < 0 || v > INT32_MAX))
		wrong(w, at, node, "must be from 0 to 2147483647");
	else if (type == SHAPE_INT32 && (v < INT32_MIN || v > INT32_MAX))
		wrong(w, at, node, "must be from -2147483648 to 2147483647");
}

static void check_scalar(const struct walk *w, const struct step *at, const cJSON *node,
			 enum shape_type type)
{
	if (type == SHAPE_QUANTITY)
		check_quantity(w, at, node);
	else if (type == SHAPE_INT || type == SHAPE_INT32 || type == SHAPE_COUNT)
		check_int(w, at, node, type);
	else if (type == SHAPE_BOOL && !cJSON_IsBool(node))
		wrong(w, at, node, "must be true or false");
	else if (type == SHAPE_STRING && !cJSON_IsString(node))
		wrong(w, at, node, "must be a string");
}

static void check_map(const struct walk *w, const struct step *at, const cJSON *obj,
		      enum shape_type type)
{
	const cJSON *value;

	if (!cJSON_IsObject(obj)) {
		wrong(w, at, obj, "must be an object");
		return;
	}
	json_each(value, obj) {
		struct step in = { .up = at, .key = value->string, .map_key = true };

		if (field_errors_full(w->errs))
			return;
		if (!cJSON_IsNull(value))
			check_scalar(w, &in, value, type);
	}
}

static void check_list(const struct walk *w, const struct step *at, const cJSON *list,
		       const struct shape *s)
{
	struct step in = { .up = at };
	const cJSON *item;

	if (!cJSON_IsArray(list)) {
		wrong(w, at, list, "must be a list");
		return;
	}
	if (s->max && cJSON_GetArraySize(list) > s->max) {
		too_many(w, at, list, s->max);
		return;
	}
	json_each(item, list) {
		if (field_errors_full(w->errs))
			return;
		if (s->type == SHAPE_STRINGS)
			check_scalar(w, &in, item, SHAPE_STRING);
		else if (!cJSON_IsObject(item))
			wrong(w, &in, item, "must be an object");
		else
			check_members(w, &in, item, s->of);
		in.index++;
	}
}

static void check_object(const struct walk *w, const struct step *at, const cJSON *obj,
			 const struct shape *of)
{
	if (cJSON_IsObject(obj))
		check_members(w, at, obj, of);
	else
		wrong(w, at, obj, "must be an object");
}

static void check(const struct walk *w, const struct step *at, const cJSON *node,
		  const struct shape *s)
{
	switch (s->type) {
	case SHAPE_OBJECT:
		check_object(w, at, node, s->of);
		break;
	case SHAPE_LIST:
	case SHAPE_STRINGS:
		check_list(w, at, node, s);
		break;
	case SHAPE_MAP:
		check_map(w, at, node, SHAPE_STRING);
		break;
	case SHAPE_QUANTITIES:
		check_map(w, at, node, SHAPE_QUANTITY);
		break;
	case SHAPE_STRING:
	case SHAPE_INT:
	case SHAPE_INT32:
	case SHAPE_COUNT:
	case SHAPE_BOOL:
	case SHAPE_QUANTITY:
		check_scalar(w, at, node, s->type);
		break;
	}
}

static void check_members(const struct walk *w, const struct step *at, const cJSON *obj,
			  const struct shape *members)
{
	for (const struct shape *s = members; s && s->key; s++) {
		struct step in = { .up = at, .key = s->key };
		const cJSON *node = json_get(obj, s->key);

		if (node)
			check(w, &in, node, s);
		else if (s->required)
			complain(w, &in, FIELD_REQUIRED, NULL, "");
	}
}

void shape_check(struct field_errors *errs, const char *path, const cJSON *doc,
		 const struct shape *members)
{
	struct walk w = { .errs = errs, .root = path };

	check_object(&w, NULL, doc, members);
}

void shape_canonical(struct field_errors *errs, const char *path, cJSON *doc,
		     const struct shape *members)
{
	struct walk w = { .errs = errs, .root = path, .rewrite = true };

	check_object(&w, NULL, doc, members);
}

int shape_first_error(const struct field_errors *errs, struct error *err)
{
	cleanup_buf struct buf text = { .max = 16384 };

	if (!errs->n)
		return 0;
	field_error_print(&text, &errs->list[0]);
	return error_set(err, ERR_INVALID, "%s",
			 text.data ? (const char *)text.data : "invalid");
}
