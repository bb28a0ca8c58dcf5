/* yaml.c - convert YAML nodes to documents (base/yaml.h, base/yaml_node.h). */
#include "base/yaml.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml_node.h"

static const struct yaml_node *resolved(const struct yaml_node *node)
{
	return node->kind == YAML_ALIAS ? node->target : node;
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
		return yaml_fail(node, err, ERR_FORMAT, "a key may not be a %s%s",
				 key->kind == YAML_MAPPING ? "mapping" : "list",
				 key->kind == YAML_MAPPING
					 ? ": render a template with '{{' first"
					 : "");
	if (yaml_scalar(&value, key, err))
		return -1;
	if (cJSON_IsNull(value))
		return yaml_fail(
			node, err, ERR_FORMAT,
			"a key is missing (null); put it in quotes if it is meant as text");
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

/* Among equal keys, the one of the lowest rank stays; two of rank 0 are refused. */
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
			return yaml_fail(m->list[i].key_node, err, ERR_FORMAT,
					 "duplicate key \"%.200s\" in this mapping; "
					 "first at %d:%d",
					 last->key, last->key_node->line,
					 last->key_node->column);
	}
	m->n = kept;
	qsort(m->list, m->n, sizeof(*m->list), by_place);
	return 0;
}

static int flatten(struct arena *arena, struct members *ret,
		   const struct yaml_node *mapping, struct error *err);

/* The members of one mapping that is merged into another. */
static int merge_one(struct arena *arena, struct members *to,
		     const struct yaml_node *node, int rank, struct error *err)
{
	const struct yaml_node *mapping = resolved(node);
	cleanup_members struct members from = { 0 };

	if (mapping->kind != YAML_MAPPING)
		return yaml_fail(node, err, ERR_FORMAT,
				 "'<<' merges a mapping or a list of mappings");
	if (flatten(arena, &from, mapping, err))
		return -1;
	for (size_t i = 0; i < from.n; i++) {
		from.list[i].rank = rank;
		add_member(to, from.list[i]);
	}
	return 0;
}

static int merge(struct arena *arena, struct members *to, const struct yaml_node *node,
		 int *rank, struct error *err)
{
	const struct yaml_node *list = resolved(node);

	if (list->kind != YAML_SEQUENCE)
		return merge_one(arena, to, node, ++*rank, err);
	for (node = list->child; node; node = node->next)
		if (merge_one(arena, to, node, ++*rank, err))
			return -1;
	return 0;
}

/* All members of a mapping, merged ones at their '<<'. */
static int flatten(struct arena *arena, struct members *ret,
		   const struct yaml_node *mapping, struct error *err)
{
	const struct yaml_node *key = mapping->child;
	int rank = 0;

	for (; key; key = key->next->next) {
		struct member m = { .key_node = key, .value = key->next };

		if (is_merge(key)) {
			if (merge(arena, ret, key->next, &rank, err))
				return -1;
			continue;
		}
		if (read_key(arena, &m.key, key, err))
			return -1;
		add_member(ret, m);
	}
	return settle(ret, err);
}

static int convert(struct arena *arena, cJSON **ret, const struct yaml_node *node,
		   struct error *err);

static int check_tag(const struct yaml_node *node, const char *want, struct error *err)
{
	if (!node->tag || !strcmp(node->tag, want))
		return 0;
	return yaml_fail(node, err, ERR_FORMAT, "unknown tag %.100s", node->tag);
}

static int convert_mapping(struct arena *arena, cJSON **ret, const struct yaml_node *node,
			   struct error *err)
{
	cleanup_json cJSON *obj = cJSON_CreateObject();
	cleanup_members struct members m = { 0 };

	if (check_tag(node, "!!map", err) || flatten(arena, &m, node, err))
		return -1;
	for (size_t i = 0; i < m.n; i++) {
		cJSON *value = NULL;

		if (convert(arena, &value, m.list[i].value, err))
			return -1;
		cJSON_AddItemToObject(obj, m.list[i].key, value);
	}
	*ret = STEAL(obj);
	return 0;
}

static int convert_list(struct arena *arena, cJSON **ret, const struct yaml_node *node,
			struct error *err)
{
	cleanup_json cJSON *list = cJSON_CreateArray();

	if (check_tag(node, "!!seq", err))
		return -1;
	for (const struct yaml_node *child = node->child; child; child = child->next) {
		cJSON *value = NULL;

		if (convert(arena, &value, child, err))
			return -1;
		cJSON_AddItemToArray(list, value);
	}
	*ret = STEAL(list);
	return 0;
}

static int convert(struct arena *arena, cJSON **ret, const struct yaml_node *node,
		   struct error *err)
{
	node = resolved(node);
	if (node->kind == YAML_MAPPING)
		return convert_mapping(arena, ret, node, err);
	if (node->kind == YAML_SEQUENCE)
		return convert_list(arena, ret, node, err);
	return yaml_scalar(ret, node, err);
}

static size_t put_utf8(char *to, uint32_t c)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(n == 1 ? c : (0xf00 >> n & 0xff) | c);
	return n;
}

/* Half of a surrogate pair becomes what is not UTF-8, and is refused as that. */
static const char *from_utf16(struct arena *arena, const unsigned char *p, size_t *len)
{
	char *text = arena_alloc(arena, *len / 2 * 3 + 1), *to = text;
	int low = p[0] == 0xff ? 0 : 1;
	uint32_t high = 0;

	for (size_t i = 2; i + 1 < *len; i += 2) {
		uint32_t c = (uint32_t)p[i + !low] << 8 | p[i + low];

		if (high && c >> 10 == 0xdc00 >> 10) {
			to -= 3;
			c = 0x10000 + ((high & 0x3ff) << 10 | (c & 0x3ff));
		}
		high = c >> 10 == 0xd800 >> 10 ? c : 0;
		to += put_utf8(to, c);
	}
	*len = (size_t)(to - text);
	return text;
}

/* Files that were put together have a mark at the beginning of each. */
static const char *without_marks(struct arena *arena, const char *text, size_t *len)
{
	char *copy = arena_alloc(arena, *len + 1), *to = copy;

	for (size_t i = 0; i < *len;) {
		if (*len - i >= 3 && (!i || text[i - 1] == '\n') &&
		    !memcmp(text + i, STR_BOM, 3))
			i += 3;
		else
			*to++ = text[i++];
	}
	*len = (size_t)(to - copy);
	return copy;
}

const char *yaml_text(struct arena *arena, const void *data, size_t *len)
{
	const char *text = data ? data : "";

	if (*len >= 2 && *len % 2 == 0 && /* else libyaml refuses it */
	    (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2)))
		return from_utf16(arena, data, len);
	if (*len >= 3 && (!memcmp(text, STR_BOM, 3) ||
			  memmem(text, *len, "\n" STR_BOM, strlen(STR_BOM) + 1)))
		return without_marks(arena, text, len);
	return text;
}

int yaml_parse(cJSON **ret, const void *data, size_t len, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *docs = cJSON_CreateArray();
	struct yaml_node *node = NULL;
	const char *text;
	size_t rest;

	if (len > YAML_MAX_BYTES)
		return error_set(err, ERR_LIMIT, "%zu bytes of YAML, more than %zu", len,
				 YAML_MAX_BYTES);
	text = yaml_text(&arena, data, &len);
	if (yaml_json(docs, text, len, &rest, err) ||
	    yaml_compose(&node, &arena, text, len, rest, err))
		return -1;
	for (; node; node = node->next) {
		cJSON *doc = NULL;

		if (convert(&arena, &doc, node, err))
			return -1;
		if (cJSON_IsNull(doc))
			cJSON_Delete(doc);
		else
			cJSON_AddItemToArray(docs, doc);
	}
	*ret = STEAL(docs);
	return 0;
}
