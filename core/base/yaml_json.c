/*
 * yaml_json.c - read the JSON objects at the beginning of a text (base/yaml_node.h).
 *
 * Follows k8s.io/apimachinery pkg/util/yaml, YAMLOrJSONDecoder.
 */
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/yaml.h"
#include "base/yaml_node.h"

struct json_stream {
	const char *text;
	size_t len, at;
	size_t rest; /* where YAML begins if no other object follows */
	int n;
};

static bool line_is(const struct json_stream *s, const char *marker)
{
	const char *at = s->text + s->at;

	return (!s->at || at[-1] == '\n') && s->len - s->at >= 3 &&
	       !memcmp(at, marker, 3) &&
	       (s->len - s->at == 3 || isspace((unsigned char)at[3]));
}

/* Skip white space, comments and document markers. Was there a marker? */
static bool skip_between(struct json_stream *s)
{
	bool marked = false;

	while (s->at < s->len) {
		const char *at = s->text + s->at;

		if (isspace((unsigned char)*at)) {
			s->at++;
		} else if (*at == '#') {
			const char *end = memchr(at, '\n', s->len - s->at);

			s->at = end ? (size_t)(end - s->text) : s->len;
		} else if (line_is(s, "---") || line_is(s, "...")) {
			marked = true;
			s->rest = s->at + (*at == '.' ? 3 : 0);
			s->at += 3;
		} else {
			break;
		}
	}
	return marked;
}

/* Is it JSON up to here, where a list or an object ends after a comma? YAML has that. */
static bool is_trailing_comma(const struct json_stream *s, size_t at)
{
	if (at >= s->len || !strchr("}]", s->text[at]))
		return false;
	while (at && isspace((unsigned char)s->text[at - 1]))
		at--;
	return at && s->text[at - 1] == ',';
}

/* 1: *ret is the next object, which begins at *from; 0: the rest is YAML. */
static int next_object(struct json_stream *s, cJSON **ret, size_t *from,
		       struct error *err)
{
	bool marked = skip_between(s) || !s->n;
	struct error why = { 0 };

	if (s->at == s->len) {
		s->rest = s->len;
		return 0;
	}
	*from = s->at;
	if (s->n >= YAML_MAX_NODES)
		return json_fail_at(s->text, s->at, err, ERR_LIMIT,
				    "more than %d objects", YAML_MAX_NODES);
	if (s->text[s->at] == '{') {
		if (!json_parse_at(ret, s->text, s->len, &s->at, &why)) {
			s->n++;
			s->rest = s->at;
			return 1;
		}
		if (is_trailing_comma(s, s->at))
			return error_set(err, ERR_FORMAT, "%s; remove the ',' before it",
					 why.msg);
		if (marked)
			return 0;
		*err = why;
		return -1;
	}
	if (marked)
		return 0;
	return json_fail_at(s->text, s->at, err, ERR_FORMAT,
			    "expected '{', '---' or the end of the text after an object");
}

int yaml_json(cJSON *docs, const char *text, size_t len, size_t *ret_rest,
	      struct error *err)
{
	struct json_stream s = { .text = text, .len = len };
	cJSON *doc = NULL;
	size_t from;
	int more;

	while ((more = next_object(&s, &doc, &from, err)) > 0)
		cJSON_AddItemToArray(docs, doc);
	*ret_rest = s.rest;
	return more;
}

/* ---- places ---- */

struct reader {
	struct arena *arena;
	const char *p;
	int line, column; /* of p */
};

static void step(struct reader *r, const char *to)
{
	for (; r->p < to; r->p++) {
		if (*r->p == '\n') {
			r->line++;
			r->column = 1;
		} else {
			r->column += (*r->p & 0xc0) != 0x80;
		}
	}
}

static void skip(struct reader *r, const char *characters)
{
	step(r, r->p + strspn(r->p, characters));
}

static const char *string_end(const char *p)
{
	for (p++; *p != '"'; p++)
		p += *p == '\\';
	return p + 1;
}

static struct yaml_node *read_node(struct reader *r);

static void read_children(struct reader *r, struct yaml_node *node)
{
	struct yaml_node **to = &node->child;

	step(r, r->p + 1);
	for (;;) {
		skip(r, " \t\r\n,:");
		if (*r->p == '}' || *r->p == ']')
			break;
		*to = read_node(r);
		to = &(*to)->next;
	}
	step(r, r->p + 1);
}

/* The text has been parsed: it is JSON. */
static struct yaml_node *read_node(struct reader *r)
{
	struct yaml_node *node = arena_alloc(r->arena, sizeof(*node));
	const char *from = r->p;

	node->line = r->line;
	node->column = r->column;
	node->kind = YAML_SCALAR;
	node->text = "";
	if (*from == '{' || *from == '[') {
		node->kind = *from == '{' ? YAML_MAPPING : YAML_SEQUENCE;
		read_children(r, node);
	} else if (*from == '"') {
		cleanup_json cJSON *string = NULL;

		step(r, string_end(from));
		string = cJSON_ParseWithLength(from, (size_t)(r->p - from));
		node->text = arena_strdup(r->arena, string ? string->valuestring : "");
		node->len = strlen(node->text);
	} else {
		step(r, from + strcspn(from, " \t\r\n,]}"));
	}
	return node;
}

struct yaml_node **yaml_json_places(struct yaml_node **to, struct arena *arena,
				    const char *text, size_t len, size_t *ret_rest)
{
	struct json_stream s = { .text = text, .len = len };
	struct reader r = { .arena = arena, .p = text, .line = 1, .column = 1 };
	cJSON *doc = NULL;
	size_t from;

	while (next_object(&s, &doc, &from, IGNORED) > 0) {
		cJSON_Delete(doc);
		step(&r, text + from);
		*to = read_node(&r);
		to = &(*to)->next;
	}
	*ret_rest = s.rest;
	return to;
}
