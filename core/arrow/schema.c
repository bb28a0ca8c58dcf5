/* Builds fields from a Parquet file's flat list of schema elements: schema.h. */
#include "arrow/schema.h"

#include <string.h>

#include "arrow/schema_type.h"
#include "base/str.h"

enum { MAX_DEPTH = 50, MAX_COLUMNS = 1 << 16, MAX_NAME = 4096, MAX_PATH = 400 };

struct builder {
	struct schema *schema;
	const struct schema_element *elements;
	size_t n, next;
	struct budget *budget;
	struct arena *arena;
	struct error *err;
	int depth;
};

/* The surroundings of an element. */
struct place {
	const char *path;
	uint8_t rep, def, def_around;
};

static int build(struct builder *b, struct field *f, struct place at);

static int bad(struct builder *b, const char *path, const char *why)
{
	return error_set(b->err, ERR_FORMAT, "column %s: %s", path, why);
}

static int take_name(struct builder *b, char **ret, const struct schema_element *e)
{
	if (e->name.len > MAX_NAME ||
	    memchr(e->name.data ? e->name.data : (void *)"", 0, e->name.len))
		return error_set(b->err, ERR_FORMAT, "invalid name of a column");
	*ret = str_slice(b->arena, e->name.data ? (const char *)e->name.data : "",
			 e->name.len);
	return 0;
}

static char *extend(struct builder *b, const char *path, const char *name)
{
	return *path ? arena_printf(b->arena, "%.*s.%s", MAX_PATH, path, name)
		     : arena_strdup(b->arena, name);
}

static int alloc_children(struct builder *b, struct field *f, size_t n)
{
	void *p = NULL;

	if (budget_alloc(&p, b->budget, b->arena, n, sizeof(*f), b->err))
		return -1;
	f->children = p;
	f->n_children = n;
	return 0;
}

static bool is_group(const struct schema_element *e)
{
	return e->n_children > 0 || e->type == PHYS_NONE;
}

static const struct schema_element *peek(struct builder *b)
{
	return b->next < b->n ? &b->elements[b->next] : NULL;
}

static int build_leaf(struct builder *b, struct field *f, const struct place *at,
		      const struct schema_element *e)
{
	struct leaf_type *leaf = &b->schema->leaves[b->schema->n_leaves++];
	struct error why = { 0 };

	leaf->path = arena_strdup(b->arena, at->path);
	leaf->field = f;
	leaf->max_def = at->def;
	leaf->max_rep = at->rep;
	leaf->in_group = b->depth > 1;
	if (!schema_leaf_type(f, leaf, e, &why))
		return 0;
	*b->err = why;
	return error_wrap(b->err, "column %s", at->path);
}

/* A group without members has no values: it is left out. */
static int build_struct(struct builder *b, struct field *f, const struct place *at,
			int32_t n)
{
	f->kind = ARROW_STRUCT;
	if ((size_t)n > b->n - b->next)
		return bad(b, at->path, "the schema ends within it");
	if (alloc_children(b, f, (size_t)n))
		return -1;
	f->n_children = 0;
	for (int32_t i = 0; i < n; i++) {
		struct field *child = &f->children[f->n_children];

		*child = (struct field){ 0 };
		if (build(b, child, *at))
			return -1;
		f->n_children += child->n_leaves > 0;
	}
	return 0;
}

/*
 * True: the list's repeated child is its element, by the rules for old writers
 * (LogicalTypes.md, "Lists").
 */
static bool is_element(struct builder *b, const struct schema_element *repeated,
		       const char *name, const char *list)
{
	const char *tuple = str_after(name, list);
	const struct schema_element *child = peek(b);

	return !is_group(repeated) || repeated->n_children > 1 || str_eq(name, "array") ||
	       (tuple && str_eq(tuple, "_tuple")) ||
	       (child && child->repetition == REPEATED);
}

static int build_group(struct builder *b, struct field *f, const struct place *at,
		       const struct schema_element *e);

/* A list or a map may be the element itself. */
static int build_element(struct builder *b, struct field *f, const struct place *at,
			 const struct schema_element *e)
{
	int rc;

	if (++b->depth > MAX_DEPTH)
		return bad(b, at->path, "nested too deeply");
	rc = build_group(b, f, at, e);
	b->depth--;
	return rc;
}

/*
 * `f` is the list; the repeated element is the next one, and is consumed. `keep`: it is
 * the element, a plain group, whatever it says.
 */
static int build_elements(struct builder *b, struct field *f, const struct place *around,
			  bool keep)
{
	const struct schema_element *e = &b->elements[b->next++];
	struct place at = *around;
	char *name;

	if (take_name(b, &name, e) || alloc_children(b, f, 1))
		return -1;
	at.path = extend(b, around->path, name);
	at.rep++;
	at.def++;
	at.def_around = f->def_inside = at.def;
	if (!keep && !is_element(b, e, name, f->name))
		return build(b, f->children, at);
	f->children->name = name;
	f->children->id = e->field_id;
	f->children->rep = at.rep;
	f->children->def = f->children->def_around = at.def;
	f->children->first_leaf = b->schema->n_leaves;
	if (!is_group(e) ? build_leaf(b, f->children, &at, e)
	    : keep       ? build_struct(b, f->children, &at, e->n_children)
			 : build_element(b, f->children, &at, e))
		return -1;
	f->children->n_leaves = b->schema->n_leaves - f->children->first_leaf;
	return 0;
}

static int build_list(struct builder *b, struct field *f, const struct place *at)
{
	const struct schema_element *repeated = peek(b);

	if (!repeated || repeated->repetition != REPEATED)
		return bad(b, at->path, "a list without a repeated element");
	f->kind = ARROW_LIST;
	return build_elements(b, f, at, false);
}

static int build_map(struct builder *b, struct field *f, const struct place *at)
{
	const struct schema_element *repeated = peek(b);

	if (!repeated || repeated->repetition != REPEATED || !is_group(repeated))
		return bad(b, at->path, "a map without repeated entries");
	f->kind = repeated->n_children == 2 ? ARROW_MAP : ARROW_LIST;
	if (build_elements(b, f, at, repeated->n_children != 1))
		return -1;
	if (f->kind == ARROW_MAP && f->children->n_children != 2)
		return bad(b, at->path, "a map of a group without members");
	return 0;
}

static int build_group(struct builder *b, struct field *f, const struct place *at,
		       const struct schema_element *e)
{
	int id = schema_logical(e).id;

	if (id == LOGICAL_LIST && e->n_children == 1)
		return build_list(b, f, at);
	if (id == LOGICAL_MAP && e->n_children == 1)
		return build_map(b, f, at);
	return build_struct(b, f, at, e->n_children);
}

/* Build the next element and all below it, with its surroundings `at`. */
static int build_one(struct builder *b, struct field *f, struct place at)
{
	const struct schema_element *e = &b->elements[b->next];
	const struct place around = at;

	if (take_name(b, &f->name, e))
		return -1;
	at.path = extend(b, at.path, f->name);
	f->rep = at.rep;
	f->def_around = at.def_around;
	f->def = at.def;
	f->first_leaf = b->schema->n_leaves;
	if (e->n_children < 0 || (is_group(e) && e->type != PHYS_NONE) ||
	    e->repetition < 0 || e->repetition > REPEATED)
		return bad(b, at.path, "invalid schema");
	if (e->repetition == REPEATED) { /* repeated without a list group */
		f->kind = ARROW_LIST;
		f->id = -1;
		return build_elements(b, f, &around, true);
	}
	f->id = e->field_id;
	if (e->repetition == OPTIONAL) {
		f->nullable = true;
		f->def = ++at.def;
	}
	b->next++;
	return is_group(e) ? build_group(b, f, &at, e) : build_leaf(b, f, &at, e);
}

static int build(struct builder *b, struct field *f, struct place at)
{
	int rc;

	if (b->next >= b->n)
		return bad(b, at.path, "the schema ends within it");
	if (++b->depth > MAX_DEPTH)
		return bad(b, at.path, "nested too deeply");
	rc = build_one(b, f, at);
	b->depth--;
	f->n_leaves = b->schema->n_leaves - f->first_leaf;
	return rc;
}

int schema_build(struct schema *ret, const struct footer *footer, struct budget *budget,
		 struct arena *arena, struct error *err)
{
	struct builder b = {
		ret, footer->schema.at, footer->schema.n, 1, budget, arena, err, 0
	};
	struct field root = { 0 };
	void *leaves = NULL;

	*ret = (struct schema){ 0 };
	if (b.n < 1 || b.n > MAX_COLUMNS || b.elements[0].n_children < 0)
		return error_set(err, ERR_FORMAT, "the schema has %zu elements", b.n);
	if (budget_alloc(&leaves, budget, arena, b.n, sizeof(struct leaf_type), err))
		return -1;
	ret->leaves = leaves;
	if (build_struct(&b, &root, &(struct place){ .path = "" },
			 b.elements[0].n_children))
		return -1;
	if (b.next != b.n)
		return error_set(err, ERR_FORMAT,
				 "the schema has elements that belong to no column");
	ret->fields = root.children;
	ret->n_fields = root.n_children;
	return 0;
}
