/* yaml_locate.c - find the line and column of a field (base/yaml.h). */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "base/yaml_node.h"

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

/* The key's node in a mapping, or in what is merged into it. */
static const struct yaml_node *find_key(const struct yaml_node *mapping,
					const struct step *s, int depth)
{
	const struct yaml_node *found = NULL, *from;

	mapping = resolved(mapping);
	if (mapping->kind != YAML_MAPPING || depth > YAML_MAX_DEPTH)
		return NULL;
	for (const struct yaml_node *k = mapping->child; k; k = k->next->next)
		if (is_key(k, s))
			return k;
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

/* Follow a step: *at is the node to point at, *node its value. */
static bool follow(const struct step *s, const struct yaml_node **at,
		   const struct yaml_node **node)
{
	const struct yaml_node *in = resolved(*node), *child = in->child;

	if (in->kind == YAML_MAPPING) {
		child = find_key(in, s, 0);
		if (!child)
			return false;
		*at = child;
		*node = child->next;
		return true;
	}
	if (in->kind != YAML_SEQUENCE || !s->in_brackets)
		return false;
	for (unsigned long i = strtoul(s->key, NULL, 10); child && i; i--)
		child = child->next;
	if (!child)
		return false;
	*at = *node = child;
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

struct yaml_places {
	struct arena arena;
	struct yaml_node *roots;
};

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

bool yaml_locate(const struct yaml_places *places, int doc, const char *path,
		 int *ret_line, int *ret_column)
{
	const struct yaml_node *node, *at;

	for (node = places ? places->roots : NULL; node; node = node->next)
		if (!is_empty(node) && !doc--)
			break;
	if (!node)
		return false;
	at = node;
	while (*path) {
		struct step s = next_step(&path);

		if (!follow(&s, &at, &node))
			break;
	}
	*ret_line = at->line;
	*ret_column = at->column;
	return true;
}
