/*
 * yaml.c - from nodes to documents: aliases expanded, merge keys resolved,
 * equal keys refused.
 */
#include "base/yaml.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml_node.h"

/* What expanding aliases has cost so far. */
struct expansion {
	struct arena *arena;
	const struct yaml_node *alias; /* the outermost that is being expanded */
	int nodes, depth;
	size_t bytes;
};

static const struct yaml_node *resolved(const struct yaml_node *node)
{
	return node->kind == YAML_ALIAS ? node->target : node;
}

static int spend(struct expansion *x, const struct yaml_node *at, size_t bytes,
		 struct error *err)
{
	at = x->alias ? x->alias : at;
	x->bytes += bytes;
	if (++x->nodes > YAML_MAX_NODES)
		return yaml_fail(at, err, ERR_LIMIT,
				 "aliases make more than %d values out of this file",
				 YAML_MAX_NODES);
	if (x->bytes > JSON_MAX_BYTES)
		return yaml_fail(at, err, ERR_LIMIT,
				 "aliases make more than %zu bytes out of this file",
				 JSON_MAX_BYTES);
	if (x->depth > YAML_MAX_DEPTH)
		return yaml_fail(at, err, ERR_LIMIT, "nested deeper than %d levels",
				 YAML_MAX_DEPTH);
	return 0;
}

/* A member of a mapping, its own or merged into it. */
struct member {
	const char *key;
	const struct yaml_node *key_node, *value;
	int rank;     /* 0: its own; 1, 2, ...: merged, the lower wins */
	size_t place; /* in the order of the text */
};

struct members {
	struct member *list; /* free it */
	size_t n, cap;
};

static void members_release(struct members *m)
{
	free(m->list);
}
#define cleanup_members __attribute__((cleanup(members_release)))

static void add_member(struct members *to, struct member m)
{
	if (to->n == to->cap) {
		to->cap = to->cap ? to->cap * 2 : 16;
		to->list = xreallocarray(to->list, to->cap, sizeof(*to->list));
	}
	m.place = to->n;
	to->list[to->n++] = m;
}

/* As sigs.k8s.io/yaml makes a string of a number or boolean that is a key. */
static const char *key_of_value(struct arena *arena, const cJSON *value)
{
	char number[JSON_MAX_NUMBER + 1];
	int64_t i;

	if (cJSON_IsString(value))
		return arena_strdup(arena, value->valuestring);
	if (cJSON_IsBool(value))
		return cJSON_IsTrue(value) ? "true" : "false";
	if (json_int_of(value, &i) || value->valuestring)
		return arena_strdup(arena, json_number_text(value, number));
	for (int digits = 1; digits < 10; digits++) {
		snprintf(number, sizeof(number), "%.*g", digits, value->valuedouble);
		if (strtof(number, NULL) == (float)value->valuedouble)
			break;
	}
	return arena_strdup(arena, number);
}

static int read_key(struct arena *arena, const char **ret, const struct yaml_node *node,
		    struct error *err)
{
	const struct yaml_node *key = resolved(node);
	cleanup_json cJSON *value = NULL;

	if (key->kind != YAML_SCALAR)
		return yaml_fail(node, err, ERR_FORMAT, "a key may not be a %s",
				 key->kind == YAML_MAPPING ? "mapping" : "list");
	if (yaml_scalar(&value, key, err))
		return -1;
	if (cJSON_IsNull(value))
		return yaml_fail(
			node, err, ERR_FORMAT,
			"a key is missing (null); put it in quotes if it is meant "
			"as text");
	*ret = key_of_value(arena, value);
	return 0;
}

static bool is_merge(const struct yaml_node *key)
{
	return key->kind == YAML_SCALAR && !strcmp(key->text, "<<") &&
	       (key->tag ? !strcmp(key->tag, "!!merge") : key->plain);
}

static int by_key(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	if (!order)
		order = x->rank - y->rank;
	return order ? order : x->place < y->place ? -1 : 1;
}

static int by_place(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->place < y->place ? -1 : 1;
}

/* Of equal keys the one of the lowest rank stays; two of rank 0 are refused. */
static int settle(struct members *m, struct error *err)
{
	size_t kept = 0;

	if (!m->n)
		return 0;
	qsort(m->list, m->n, sizeof(*m->list), by_key);
	for (size_t i = 0; i < m->n; i++) {
		const struct member *last = &m->list[kept - !!kept];

		if (!kept || strcmp(last->key, m->list[i].key))
			m->list[kept++] = m->list[i];
		else if (!last->rank && !m->list[i].rank)
			return yaml_fail(
				m->list[i].key_node, err, ERR_FORMAT,
				"the key \"%.200s\" stands twice in this mapping; "
				"the first is at %d:%d",
				last->key, last->key_node->line, last->key_node->column);
	}
	m->n = kept;
	qsort(m->list, m->n, sizeof(*m->list), by_place);
	return 0;
}

static int flatten(struct expansion *x, struct members *ret,
		   const struct yaml_node *mapping, struct error *err);

/* The members of one mapping that is merged into another. */
static int merge_one(struct expansion *x, struct members *to,
		     const struct yaml_node *node, int rank, struct error *err)
{
	const struct yaml_node *mapping = resolved(node);
	bool outermost = node->kind == YAML_ALIAS && !x->alias;
	cleanup_members struct members from = { 0 };
	int failed;

	if (mapping->kind != YAML_MAPPING)
		return yaml_fail(node, err, ERR_FORMAT,
				 "'<<' merges a mapping or a list of mappings");
	if (outermost)
		x->alias = node;
	x->depth++;
	failed = spend(x, node, 0, err) || flatten(x, &from, mapping, err);
	x->depth--;
	if (outermost)
		x->alias = NULL;
	if (failed)
		return -1;
	for (size_t i = 0; i < from.n; i++) {
		from.list[i].rank = rank;
		add_member(to, from.list[i]);
	}
	return 0;
}

static int merge(struct expansion *x, struct members *to, const struct yaml_node *node,
		 int *rank, struct error *err)
{
	const struct yaml_node *list = resolved(node);

	if (list->kind != YAML_SEQUENCE)
		return merge_one(x, to, node, ++*rank, err);
	for (node = list->child; node; node = node->next)
		if (merge_one(x, to, node, ++*rank, err))
			return -1;
	return 0;
}

/* All members of a mapping, merged ones where their '<<' stands. */
static int flatten(struct expansion *x, struct members *ret,
		   const struct yaml_node *mapping, struct error *err)
{
	const struct yaml_node *key = mapping->child;
	int rank = 0;

	for (; key; key = key->next->next) {
		struct member m = { .key_node = key, .value = key->next };

		if (is_merge(key)) {
			if (merge(x, ret, key->next, &rank, err))
				return -1;
			continue;
		}
		if (spend(x, key, resolved(key)->len, err) ||
		    read_key(x->arena, &m.key, key, err))
			return -1;
		add_member(ret, m);
	}
	return settle(ret, err);
}

static int convert(struct expansion *x, cJSON **ret, const struct yaml_node *node,
		   struct error *err);

static int convert_mapping(struct expansion *x, cJSON **ret, const struct yaml_node *node,
			   struct error *err)
{
	cleanup_json cJSON *obj = cJSON_CreateObject();
	cleanup_members struct members m = { 0 };

	if (flatten(x, &m, node, err))
		return -1;
	for (size_t i = 0; i < m.n; i++) {
		cJSON *value = NULL;

		if (convert(x, &value, m.list[i].value, err))
			return -1;
		cJSON_AddItemToObject(obj, m.list[i].key, value);
	}
	*ret = STEAL(obj);
	return 0;
}

static int convert_list(struct expansion *x, cJSON **ret, const struct yaml_node *node,
			struct error *err)
{
	cleanup_json cJSON *list = cJSON_CreateArray();

	for (const struct yaml_node *child = node->child; child; child = child->next) {
		cJSON *value = NULL;

		if (convert(x, &value, child, err))
			return -1;
		cJSON_AddItemToArray(list, value);
	}
	*ret = STEAL(list);
	return 0;
}

static int check_collection_tag(const struct yaml_node *node, const char *want,
				struct error *err)
{
	if (!node->tag || !strcmp(node->tag, want))
		return 0;
	return yaml_fail(node, err, ERR_FORMAT, "unknown tag %.100s", node->tag);
}

static int convert_node(struct expansion *x, cJSON **ret, const struct yaml_node *node,
			struct error *err)
{
	int failed;

	if (spend(x, node, node->len, err))
		return -1;
	if (node->kind == YAML_SCALAR)
		return yaml_scalar(ret, node, err);
	x->depth++;
	if (node->kind == YAML_MAPPING)
		failed = check_collection_tag(node, "!!map", err) ||
			 convert_mapping(x, ret, node, err);
	else
		failed = check_collection_tag(node, "!!seq", err) ||
			 convert_list(x, ret, node, err);
	x->depth--;
	return failed ? -1 : 0;
}

static int convert(struct expansion *x, cJSON **ret, const struct yaml_node *node,
		   struct error *err)
{
	bool outermost = node->kind == YAML_ALIAS && !x->alias;
	int failed;

	if (outermost)
		x->alias = node;
	failed = convert_node(x, ret, resolved(node), err);
	if (outermost)
		x->alias = NULL;
	return failed;
}

/* JSON is read as JSON: its escapes are more than YAML knows. */
static bool parse_as_json(cJSON **ret, const char *data, size_t len)
{
	struct error unused = { 0 };
	cJSON *doc = NULL;
	size_t i = 0;

	while (i < len && isspace((unsigned char)data[i]))
		i++;
	if (i == len || data[i] != '{' || len > YAML_MAX_BYTES ||
	    json_parse(&doc, data, len, &unused))
		return false;
	*ret = cJSON_CreateArray();
	cJSON_AddItemToArray(*ret, doc);
	return true;
}

int yaml_parse(cJSON **ret, const void *data, size_t len, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct expansion x = { .arena = &arena };
	cleanup_json cJSON *docs = NULL;
	struct yaml_node *node = NULL;

	if (parse_as_json(ret, data, len))
		return 0;
	docs = cJSON_CreateArray();
	if (yaml_compose(&node, &arena, data, len, err))
		return -1;
	for (; node; node = node->next) {
		cJSON *doc = NULL;

		if (convert(&x, &doc, node, err))
			return -1;
		if (cJSON_IsNull(doc))
			cJSON_Delete(doc);
		else
			cJSON_AddItemToArray(docs, doc);
	}
	*ret = STEAL(docs);
	return 0;
}
