/*
 * yaml_compose.c - build a tree of nodes from libyaml's events (base/yaml_node.h).
 *
 * The only file that knows libyaml.
 */
#include <string.h>
#include <yaml.h>

#include "base/map.h"
#include "base/str.h"
#include "base/yaml.h"
#include "base/yaml_node.h"

struct composer {
	yaml_parser_t parser;
	struct arena *arena;
	struct map anchors; /* of the current document: name to node */
	const char *data;   /* of the whole text, from where it is parsed */
	size_t len;
	size_t lines;     /* before it */
	int depth, total; /* total: values so far, aliases expanded */
	size_t bytes;     /* of text, likewise */
	struct error *err;
};

int yaml_fail(const struct yaml_node *at, struct error *err, enum error_kind kind,
	      const char *fmt, ...)
{
	char what[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return error_set(err, kind, "%d:%d: %s", at->line, at->column, what);
}

/* libyaml's messages, and their usual causes. */
static const struct {
	const char *problem, *say;
} sentences[] = {
	{ "mapping values are not allowed in this context",
	  "':' is not expected here: check the indentation of this line and the one "
	  "before, or put the text in quotes" },
	{ "did not find expected key", "expected a key here: check the indentation, or "
				       "put the text before in quotes" },
	{ "did not find expected '-' indicator",
	  "expected '- ' here: check the indentation of this list" },
	{ "could not find expected ':'", "this line has no ':' after its key" },
	{ "block sequence entries are not allowed in this context",
	  "a list item ('- ') is not allowed here: begin the list on a line of its own" },
	{ "found unexpected end of stream", "the text ends within a quoted string" },
	{ "did not find expected ',' or ']'", "',' or ']' expected in the list" },
	{ "did not find expected ',' or '}'", "',' or '}' expected in the mapping" },
	{ "did not find expected <document start>",
	  "a document has ended before this: check the indentation, "
	  "or begin a new one with '---'" },
	{ "found undefined tag handle", "the tag has an unknown prefix" },
	{ "found unknown escape character",
	  "unknown escape in a string in double quotes (write \\\\ for a backslash)" },
	{ "control characters are not allowed", "control characters are not allowed" },
	{ "found a tab character where an indentation space is expected",
	  "tab used for indentation; use spaces" },
	{ "found a tab character that violates indentation",
	  "tab used for indentation; use spaces" },
};

static const char *sentence(const struct composer *c, size_t at)
{
	const char *problem = c->parser.problem ? c->parser.problem : "not YAML";

	if (!strcmp(problem, "found character that cannot start any token") &&
	    at < c->len) {
		if (c->data[at] == '\t')
			return "tab used for indentation; use spaces";
		return "a value cannot begin with this character; quote the value";
	}
	for (size_t i = 0; i < N_ELEMENTS(sentences); i++)
		if (!strcmp(problem, sentences[i].problem))
			return sentences[i].say;
	return problem;
}

static bool begins_character(char c)
{
	return (c & 0xc0) != 0x80;
}

/* The reader counts bytes where the others count lines. */
static yaml_mark_t mark_of_byte(const struct composer *c, size_t at)
{
	yaml_mark_t mark = { .index = at };

	for (size_t i = 0; i < at && i < c->len; i++) {
		if (c->data[i] == '\n') {
			mark.line++;
			mark.column = 0;
		} else {
			mark.column += begins_character(c->data[i]);
		}
	}
	return mark;
}

/* Marks count characters; what stands there in UTF-8? The length past the end. */
static size_t byte_of_mark(const struct composer *c, size_t characters)
{
	for (size_t i = 0; i < c->len; i++)
		if (begins_character(c->data[i]) && !characters--)
			return i;
	return c->len;
}

/* Problems of which libyaml often names the line after the one that is wrong. */
static bool misleads(const char *problem)
{
	static const char *const list[] = {
		"mapping values are not allowed in this context",
		"could not find expected ':'", "did not find expected key",
		"did not find expected ',' or '}'", NULL
	};

	return problem && str_in(problem, list);
}

static int parser_error(const struct composer *c)
{
	const yaml_parser_t *p = &c->parser;
	bool in_bytes = p->error == YAML_READER_ERROR;
	size_t byte =
		in_bytes ? p->problem_offset : byte_of_mark(c, p->problem_mark.index);
	bool in_key = str_eq(p->problem, "could not find expected ':'");
	yaml_mark_t at = in_key ? p->context_mark : p->problem_mark;
	const char *say = NULL;
	char context[80] = "";

	if (misleads(p->problem))
		say = yaml_cause(c->arena, c->data, c->len, &byte);
	if (say) {
		at = mark_of_byte(c, byte);
		return error_set(c->err, ERR_FORMAT, "%zu:%zu: %s",
				 c->lines + at.line + 1, at.column + 1, say);
	}
	/* At the end of the text libyaml adds a line that is not there. */
	if (in_bytes || (byte >= c->len && !in_key))
		at = mark_of_byte(c, byte);
	if (p->context && p->context_mark.line < at.line)
		snprintf(context, sizeof(context), " (in what began at %zu:%zu)",
			 c->lines + p->context_mark.line + 1, p->context_mark.column + 1);
	return error_set(c->err, ERR_FORMAT, "%zu:%zu: %s%s", c->lines + at.line + 1,
			 at.column + 1, sentence(c, byte), context);
}

static int next_event(struct composer *c, yaml_event_t *event)
{
	return yaml_parser_parse(&c->parser, event) ? 0 : parser_error(c);
}

static const char *short_tag(struct arena *arena, const yaml_char_t *tag)
{
	const char *name =
		tag ? str_after((const char *)tag, "tag:yaml.org,2002:") : NULL;

	if (name)
		return arena_printf(arena, "!!%s", name);
	return tag ? arena_strdup(arena, (const char *)tag) : NULL;
}

/* A node for the event, anchored; the event is used up. */
static struct yaml_node *new_node(struct composer *c, yaml_event_t *e)
{
	struct yaml_node *node = arena_alloc(c->arena, sizeof(*node));
	const yaml_char_t *anchor = NULL;

	node->line = (int)(c->lines + e->start_mark.line) + 1;
	node->column = (int)e->start_mark.column + 1;
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		node->kind = YAML_SCALAR;
		node->plain = e->data.scalar.plain_implicit;
		node->len = e->data.scalar.length;
		node->text = str_slice(c->arena, (char *)e->data.scalar.value, node->len);
		node->tag = short_tag(c->arena, e->data.scalar.tag);
		anchor = e->data.scalar.anchor;
		break;
	case YAML_SEQUENCE_START_EVENT:
		node->kind = YAML_SEQUENCE;
		node->tag = short_tag(c->arena, e->data.sequence_start.tag);
		anchor = e->data.sequence_start.anchor;
		break;
	case YAML_MAPPING_START_EVENT:
		node->kind = YAML_MAPPING;
		node->tag = short_tag(c->arena, e->data.mapping_start.tag);
		anchor = e->data.mapping_start.anchor;
		break;
	default: /* YAML_ALIAS_EVENT */
		node->kind = YAML_ALIAS;
		node->text = arena_strdup(c->arena, (char *)e->data.alias.anchor);
		node->target = map_get(&c->anchors, node->text);
	}
	if (anchor)
		map_put(&c->anchors, (const char *)anchor, node);
	yaml_event_delete(e);
	return node;
}

static int check_alias(const struct composer *c, const struct yaml_node *node)
{
	if (!node->target)
		return yaml_fail(node, c->err, ERR_FORMAT,
				 "no anchor '&%.100s' before this alias", node->text);
	if (node->target->open)
		return yaml_fail(node, c->err, ERR_FORMAT,
				 "the alias '*%.100s' is inside its own anchor",
				 node->text);
	return 0;
}

/*
 * Add a node to what the file comes to. An alias counts as all that it stands
 * for, whose size is known by then: so a file that would explode ("billion
 * laughs") is refused before anything of it is expanded.
 */
static int count(struct composer *c, struct yaml_node *node)
{
	const struct yaml_node *what = node->kind == YAML_ALIAS ? node->target : node;
	const char *aliases = node->kind == YAML_ALIAS ? ", aliases expanded" : "";

	if (node->kind != YAML_ALIAS) {
		node->total = 1;
		node->height = node->kind != YAML_SCALAR;
		node->bytes = node->len;
	}
	c->total += what->total;
	c->bytes += what->bytes;
	if (c->total > YAML_MAX_NODES)
		return yaml_fail(node, c->err, ERR_LIMIT, "more than %d values%s",
				 YAML_MAX_NODES, aliases);
	if (c->bytes > JSON_MAX_BYTES)
		return yaml_fail(node, c->err, ERR_LIMIT, "more than %zu bytes%s",
				 JSON_MAX_BYTES, aliases);
	if (c->depth + what->height > YAML_MAX_DEPTH)
		return yaml_fail(node, c->err, ERR_LIMIT,
				 "nested deeper than %d levels%s", YAML_MAX_DEPTH,
				 aliases);
	return 0;
}

static void add_size(struct yaml_node *parent, const struct yaml_node *child)
{
	if (child->kind == YAML_ALIAS)
		child = child->target;
	parent->total += child->total;
	parent->bytes += child->bytes;
	if (parent->height <= child->height)
		parent->height = child->height + 1;
}

static int compose_node(struct composer *c, yaml_event_t *event, struct yaml_node **ret);

/* Up to the end of the sequence or mapping. */
static int compose_children(struct composer *c, struct yaml_node *parent)
{
	struct yaml_node **to = &parent->child;
	yaml_event_t event;

	for (;;) {
		if (next_event(c, &event))
			return -1;
		if (event.type == YAML_SEQUENCE_END_EVENT ||
		    event.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&event);
			return 0;
		}
		if (compose_node(c, &event, to))
			return -1;
		add_size(parent, *to);
		to = &(*to)->next;
	}
}

static int compose_node(struct composer *c, yaml_event_t *event, struct yaml_node **ret)
{
	struct yaml_node *node = new_node(c, event);
	int failed;

	if ((node->kind == YAML_ALIAS && check_alias(c, node)) || count(c, node))
		return -1;
	*ret = node;
	if (node->kind != YAML_SEQUENCE && node->kind != YAML_MAPPING)
		return 0;
	node->open = true;
	c->depth++;
	failed = compose_children(c, node);
	c->depth--;
	node->open = false;
	return failed;
}

/* Between documents and after the last there are events without a node. */
static int compose_stream(struct composer *c, struct yaml_node **to)
{
	yaml_event_t event;
	bool more = true;

	while (more) {
		if (next_event(c, &event))
			return -1;
		switch (event.type) {
		case YAML_SCALAR_EVENT:
		case YAML_SEQUENCE_START_EVENT:
		case YAML_MAPPING_START_EVENT:
		case YAML_ALIAS_EVENT:
			if (compose_node(c, &event, to))
				return -1;
			to = &(*to)->next;
			break;
		default:
			if (event.type == YAML_DOCUMENT_END_EVENT)
				map_release(&c->anchors, NULL);
			more = event.type != YAML_STREAM_END_EVENT;
			yaml_event_delete(&event);
		}
	}
	return 0;
}

static size_t count_lines(const char *text, size_t len)
{
	size_t n = 0;

	for (const char *end = text + len;
	     (text = memchr(text, '\n', (size_t)(end - text))); text++)
		n++;
	return n;
}

int yaml_compose(struct yaml_node **ret, struct arena *arena, const char *text,
		 size_t len, size_t from, struct error *err)
{
	struct composer c = { .arena = arena,
			      .data = text + from,
			      .len = len - from,
			      .lines = count_lines(text, from),
			      .err = err };
	struct yaml_node *first = NULL;
	int failed;

	if (!yaml_parser_initialize(&c.parser))
		return error_set(err, ERR_LIMIT, "out of memory");
	yaml_parser_set_input_string(&c.parser, (const unsigned char *)c.data, c.len);
	failed = compose_stream(&c, &first);
	map_release(&c.anchors, NULL);
	yaml_parser_delete(&c.parser);
	if (!failed)
		*ret = first;
	return failed;
}
