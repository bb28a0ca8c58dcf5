/*
 * schema_node.h - the schema in memory: private to core/api/schema*.c, rules.c.
 *
 * A `struct node` is one structural schema: a type of `definitions`, or a reference to
 * one with keywords of its own (default, rules). Nodes are shared and never recursive;
 * all are in the schema's arena, and the texts and defaults that they point to in the
 * schema's document.
 */
#ifndef API_SCHEMA_NODE_H
#define API_SCHEMA_NODE_H

#include <regex.h>

#include "api/schema.h"

enum node_type {
	NODE_OBJECT,
	NODE_ARRAY,
	NODE_STRING,
	NODE_INTEGER,
	NODE_BOOLEAN,
	NODE_INT_OR_STRING,
};

enum node_format { FORMAT_NONE, FORMAT_INT32, FORMAT_INT64, FORMAT_DATE_TIME };
enum node_list { LIST_ATOMIC, LIST_SET, LIST_MAP };

struct prop {
	const char *name;
	const struct node *node;
};

struct pattern {
	const char *text;
	regex_t regex;
	struct pattern *next;
};

/* One entry of a node's x-kubernetes-validations. */
struct rule {
	const char *id, *message;
	const char *field;     /* fieldPath without its dot; NULL: the value itself */
	const char *const *at; /* the keys down to the field to blame; NULL: none */
	bool is_transition;    /* mentions oldSelf */
	const struct rule_check *check;
};

struct node {
	enum node_type type;
	enum node_format format;
	enum node_list list;
	bool nullable, preserves_unknown;
	bool atomic;              /* an object that is one value: x-kubernetes-map-type */
	int64_t minimum, maximum; /* of integers; INT64_MIN, INT64_MAX: none */
	int64_t min_size, max_size; /* characters, items or members; 0, INT64_MAX: none */
	const cJSON *fallback;      /* the default; NULL: none */
	const cJSON *enums;         /* an array; NULL: any value */
	const struct pattern *pattern;
	const char *hint;        /* describes a valid text; NULL: the pattern does */
	const cJSON *instead;    /* {no field: what to use}, or of words; NULL: none */
	const char *const *keys; /* of a list that is a map; ends with NULL */
	const char *const *required; /* ends with NULL; never NULL itself */
	const struct prop *props;    /* of an object, in the order of the source */
	size_t n_props;
	const struct node *each; /* items, or additionalProperties; NULL: none */
	const struct rule *rules;
	size_t n_rules;
};

struct kind {
	const char *name;
	const char *api_version; /* its own, or the schema's */
	const cJSON *source;     /* the entry of `kinds` */
	const struct node *node;
	bool namespaced;
};

struct definition {
	const char *name;
	const cJSON *source;
	const struct node *node; /* NULL until it is compiled */
	bool compiling;
};

struct schema {
	const struct schema *base; /* has more definitions; or NULL */
	cJSON *doc;
	struct arena arena;
	const char *group, *version, *api_version; /* "group/version" */
	struct kind *kinds;
	size_t n_kinds;
	struct definition *definitions; /* sorted by name */
	size_t n_definitions;
	struct pattern *patterns;
};

/* The kind of that name, in any group and version; or NULL. */
const struct kind *schema_kind(const struct schema *schema, const char *name);
const struct definition *schema_definition(const struct schema *schema, const char *name);
const struct node *node_prop(const struct node *node, const char *name);

/*
 * The keys of an element of a list that is a map, as text, owned by the caller; NULL: one
 * is missing.
 */
char *node_keys_text(const struct node *list, const cJSON *element);

/* A rule as a function. `old` is NULL unless it is a transition rule. */
struct rule_check {
	const char *id;
	bool (*holds)(const struct rule *rule, const struct node *node, const cJSON *self,
		      const cJSON *old);
};

/* Ends with an entry without id. */
extern const struct rule_check rule_checks[];
const struct rule_check *rule_find(const char *id);

/* metadata of the root: names, labels, annotations. */
void schema_check_meta(const struct kind *kind, const cJSON *obj,
		       struct field_errors *errs);

#endif
