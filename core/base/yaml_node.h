/*
 * yaml_node.h - YAML as a tree with places, before it becomes documents.
 * Private to base/yaml*.c.
 *
 * Nodes live in the arena that they were read into.
 */
#ifndef BASE_YAML_NODE_H
#define BASE_YAML_NODE_H

#include "base/arena.h"
#include "base/json.h"

enum yaml_kind { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING, YAML_ALIAS };

struct yaml_node {
	enum yaml_kind kind;
	bool plain;   /* scalar: unquoted and untagged, so that its text says its type */
	bool open;    /* still being read: an alias to it would be endless */
	int total;    /* values in it, itself and what aliases stand for counted */
	int height;   /* levels of nesting in it, counted in the same way */
	size_t bytes; /* of text in it, counted in the same way */
	int line, column;         /* from 1 */
	const char *tag;          /* "!!int", "!local"; NULL for none */
	const char *text;         /* scalar: the value; alias: the anchor's name */
	size_t len;               /* of text: a value may hold NUL */
	struct yaml_node *child;  /* first; of a mapping: key, value, key, value ... */
	struct yaml_node *next;   /* sibling */
	struct yaml_node *target; /* alias: the node it refers to, not an alias itself */
};

/*
 * The root of each document, `next` to one another. Text is copied into the arena. The
 * documents begin at the byte `from` of the text, which begins a line.
 */
MUST_CHECK int yaml_compose(struct yaml_node **ret, struct arena *arena, const char *text,
			    size_t len, size_t from, struct error *err);

/*
 * Add the objects that the text begins with, JSON one after another or separated by '---'
 * (yaml_json.c). *ret_rest: where YAML begins, or len.
 */
MUST_CHECK int yaml_json(cJSON *docs, const char *text, size_t len, size_t *ret_rest,
			 struct error *err);
/* The same as nodes, in text that yaml_json() parsed; returns where the next one belongs. */
struct yaml_node **yaml_json_places(struct yaml_node **to, struct arena *arena,
				    const char *text, size_t len, size_t *ret_rest);
/* The text in UTF-8, without byte order marks; a copy in the arena if there are any. */
const char *yaml_text(struct arena *arena, const void *data, size_t *len);

/* "line:column: ..." of a node. Returns -1. */
int yaml_fail(const struct yaml_node *at, struct error *err, enum error_kind kind,
	      const char *fmt, ...) PRINTF_LIKE(4, 5);

/* The value of a scalar, as go-yaml v2 resolves it; owned by the caller. */
MUST_CHECK int yaml_scalar(cJSON **ret, const struct yaml_node *node, struct error *err);

/* The same for a plain text; NULL where JSON has no such value (.inf, .nan). */
cJSON *yaml_plain(const char *text);

/*
 * The usual cause of an error of the parser at byte *at: in its line, or, if no key precedes
 * the error there, in the last one before it that is neither empty nor a comment, which the
 * parser often finds no fault with. What to say of it, *at is then where it stands; NULL if
 * there is no such cause.
 */
const char *yaml_cause(struct arena *arena, const char *data, size_t len, size_t *at);

#endif
