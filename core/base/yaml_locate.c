/* yaml_locate.c - find the line and column of a field (base/yaml.h). */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "base/yaml_node.h"

enum { MAX_DOTS = 16 }; /* of a key that is found */

/* One step of a path: a key, or an index into a list. */
struct step {
	const char *key;
	size_t len;
	bool in_brackets;
};

/* The first step of the path; *path goes on to the next. */
static struct step next_step(const char **path)
{
	const char *p = *path + (**path == '.');
	struct step s = { .key = p };

	if (*p == '[') {
		s.key = p + 1;
		s.in_brackets = true;
		s.len = strcspn(s.key, "]");
		*path = s.key + s.len + (s.key[s.len] == ']');
		return s;
	}
	s.len = strcspn(p, ".[");
	*path = p + s.len;
	return s;
}

/* A key may have dots, such as nvidia.com/gpu: take the step up to the next one. */
static bool longer_key(const char **path, struct step *s)
{
	if (s->in_brackets || **path != '.')
		return false;
	s->len = (size_t)(*path + 1 - s->key);
	s->len += strcspn(*path + 1, ".[");
	*path = s->key + s->len;
	return true;
}

/*
 * Where the last search at a depth ended, and the next one begins: all fields of a text,
 * asked for in its order, take one pass.
 */
struct finger {
	const struct yaml_node *in, *at; /* in: the mapping or the sequence; NULL: none */
	size_t index;                    /* of `at`, in a sequence */
};

struct yaml_places {
	struct arena arena;
	struct yaml_node *roots;
	const struct yaml_node *root; /* the document that was asked for last */
	int doc;                      /* its number */
	struct finger fingers[YAML_MAX_DEPTH];
};

static const struct yaml_node *resolved(const struct yaml_node *node)
{
	return node->kind == YAML_ALIAS ? node->target : node;
}

static bool is_key(const struct yaml_node *node, const struct step *s)
{
	node = resolved(node);
	return node->kind == YAML_SCALAR && node->len == s->len &&
	       !memcmp(node->text, s->key, s->len);
}

static const struct yaml_node *key_between(const struct yaml_node *k,
					   const struct yaml_node *end,
					   const struct step *s)
{
	for (; k != end; k = k->next->next)
		if (is_key(k, s))
			return k;
	return NULL;
}

static const struct yaml_node *find_key(const struct yaml_node *mapping,
					const struct step *s, int depth);

/* The key's node in what is merged into a mapping. */
static const struct yaml_node *merged_key(const struct yaml_node *mapping,
					  const struct step *s, int depth)
{
	const struct yaml_node *found = NULL, *from;

	for (const struct yaml_node *k = mapping->child; k && !found; k = k->next->next) {
		if (k->kind != YAML_SCALAR || strcmp(k->text, "<<"))
			continue;
		from = resolved(k->next);
		if (from->kind == YAML_MAPPING)
			found = find_key(from, s, depth + 1);
		for (from = from->kind == YAML_SEQUENCE ? from->child : NULL;
		     from && !found; from = from->next)
			found = find_key(from, s, depth + 1);
	}
	return found;
}

/* The key's node in a mapping, or in what is merged into it. */
static const struct yaml_node *find_key(const struct yaml_node *mapping,
					const struct step *s, int depth)
{
	const struct yaml_node *found;

	mapping = resolved(mapping);
	if (mapping->kind != YAML_MAPPING || depth > YAML_MAX_DEPTH)
		return NULL;
	found = key_between(mapping->child, NULL, s);
	return found ? found : merged_key(mapping, s, depth);
}

static const struct yaml_node *follow_key(struct finger *f, const struct yaml_node *in,
					  const struct step *s)
{
	const struct yaml_node *k = key_between(f->at, NULL, s);

	if (!k)
		k = key_between(in->child, f->at, s);
	if (!k)
		return merged_key(in, s, 0);
	*f = (struct finger){ .in = in, .at = k };
	return k;
}

static const struct yaml_node *follow_index(struct finger *f, const struct yaml_node *in,
					    const struct step *s)
{
	size_t index = strtoul(s->key, NULL, 10);
	bool ahead = f->at && f->index <= index;
	const struct yaml_node *child = ahead ? f->at : in->child;

	for (size_t i = ahead ? f->index : 0; child && i < index; i++)
		child = child->next;
	if (child)
		*f = (struct finger){ in, child, index };
	return child;
}

/* Follow a step: *at is the node to point at, *node its value. */
static bool follow(struct finger *f, const struct step *s, const struct yaml_node **at,
		   const struct yaml_node **node)
{
	const struct yaml_node *in = resolved(*node), *child = NULL;

	if (f->in != in)
		*f = (struct finger){ 0 };
	if (in->kind == YAML_MAPPING)
		child = follow_key(f, in, s);
	else if (in->kind == YAML_SEQUENCE && s->in_brackets)
		child = follow_index(f, in, s);
	if (!child)
		return false;
	*at = child;
	*node = in->kind == YAML_MAPPING ? child->next : child;
	return true;
}

/* Documents that yaml_parse() leaves out do not count. */
static bool is_empty(const struct yaml_node *node)
{
	cleanup_json cJSON *value = NULL;

	node = resolved(node);
	return node->kind == YAML_SCALAR && !yaml_scalar(&value, node, IGNORED) &&
	       cJSON_IsNull(value);
}

struct yaml_places *yaml_places(const void *data, size_t len)
{
	struct yaml_places *places = xcalloc(1, sizeof(*places));
	const char *text = yaml_text(&places->arena, data, &len);
	struct yaml_node **to = &places->roots;
	size_t rest;

	to = yaml_json_places(to, &places->arena, text, len, &rest);
	if (!yaml_compose(to, &places->arena, text, len, rest, IGNORED))
		return places;
	yaml_places_free(places);
	return NULL;
}

void yaml_places_free(struct yaml_places *places)
{
	if (places)
		arena_clear(&places->arena);
	free(places);
}

static const struct yaml_node *root_of(struct yaml_places *p, int doc)
{
	const struct yaml_node *node = p->roots;
	int n = 0;

	if (p->root && p->doc <= doc) {
		node = p->root;
		n = p->doc;
	}
	for (; node; node = node->next)
		if (!is_empty(node) && n++ == doc)
			break;
	if (node) {
		p->root = node;
		p->doc = doc;
	}
	return node;
}

bool yaml_locate(struct yaml_places *places, int doc, const char *path, int *ret_line,
		 int *ret_column)
{
	const struct yaml_node *node = places ? root_of(places, doc) : NULL, *at = node;

	if (!node)
		return false;
	for (size_t depth = 0; *path && depth < YAML_MAX_DEPTH; depth++) {
		struct step s = next_step(&path);
		struct finger *f = &places->fingers[depth];
		bool found = follow(f, &s, &at, &node);

		for (int dots = 0; !found && dots < MAX_DOTS && longer_key(&path, &s);
		     dots++)
			found = follow(f, &s, &at, &node);
		if (!found)
			break;
	}
	*ret_line = at->line;
	*ret_column = at->column;
	return true;
}
