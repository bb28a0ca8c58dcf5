/* table_hive.c - finds partitions in the names of directories (cache/table_impl.h). */
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cache/table_impl.h"

enum { MAX_KEYS = 64 };

struct hive_key {
	const char *name;
	bool is_string; /* some value is no int32 */
	bool has_value; /* some value is not null */
	size_t column;  /* of the table */
};

/* The key and the value of a directory. */
struct pair {
	const char *key, *value; /* value NULL: null */
};

static int hex_digit(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					    : -1;
}

/* %41 becomes A; a % that begins no such code remains. */
static const char *decode(struct arena *arena, const char *text, size_t len)
{
	char *copy = str_slice(arena, text, len), *to = copy;

	for (const char *p = copy; *p; p++) {
		int high = *p == '%' ? hex_digit(p[1]) : -1;
		int low = high < 0 ? -1 : hex_digit(p[2]);

		if (low >= 0 && high + low) {
			*to++ = (char)(high * 16 + low);
			p += 2;
		} else {
			*to++ = *p;
		}
	}
	*to = 0;
	return copy;
}

/* The next directory KEY=VALUE of *path, which is advanced. False: there is none. */
static bool next_pair(struct pair *ret, struct arena *arena, const char **path)
{
	const char *slash, *equals;

	for (; (slash = strchr(*path, '/')); *path = slash + 1) {
		equals = memchr(*path, '=', (size_t)(slash - *path));
		if (!equals)
			continue;
		ret->key = decode(arena, *path, (size_t)(equals - *path));
		ret->value = decode(arena, equals + 1, (size_t)(slash - equals - 1));
		if (str_eq(ret->value, "__HIVE_DEFAULT_PARTITION__"))
			ret->value = NULL;
		*path = slash + 1;
		return true;
	}
	return false;
}

/* As Arrow reads an int32: "007", "-1", "0x1F"; no '+' and no blanks. */
static bool parse_int32(int64_t *ret, const char *text)
{
	bool negative = *text == '-', hex = *text == '0' && (text[1] | 32) == 'x';
	const char *digits = text + (hex ? 2 : negative);
	size_t len = strlen(digits);

	if (!len || (hex && len > 8) ||
	    strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789") != len)
		return false;
	if (!hex)
		digits += strspn(digits, "0");
	if (strlen(digits) > 10)
		return false;
	*ret = strtoll(digits, NULL, hex ? 16 : 10);
	if (hex)
		*ret = (int32_t)(uint32_t)*ret;
	else if (negative)
		*ret = -*ret;
	return *ret >= INT32_MIN && *ret <= INT32_MAX;
}

/* ---- keys ---- */

static struct hive_key *find_key(struct table *t, const char *name)
{
	for (size_t i = 0; i < t->n_keys; i++)
		if (str_eq(t->keys[i].name, name))
			return &t->keys[i];
	return NULL;
}

static int add_pair(struct table *t, const struct pair *p, struct error *err)
{
	struct hive_key *key = find_key(t, p->key);
	int64_t number;

	if (!utf8_valid(p->key, strlen(p->key)) ||
	    (p->value && !utf8_valid(p->value, strlen(p->value))))
		return error_set(err, ERR_INVALID,
				 "the name of a partition's directory is not UTF-8");
	if (!key && t->n_keys == MAX_KEYS)
		return error_set(err, ERR_LIMIT, "more than %d keys of partitions",
				 MAX_KEYS);
	if (!key) {
		if (!t->keys)
			t->keys = arena_alloc(&t->arena, MAX_KEYS * sizeof(*t->keys));
		key = &t->keys[t->n_keys++];
		*key = (struct hive_key){ .name = arena_strdup(&t->arena, p->key) };
	}
	key->has_value |= p->value != NULL;
	key->is_string |= p->value && !parse_int32(&number, p->value);
	return 0;
}

int hive_find(struct table *t, struct error *err)
{
	for (size_t i = 0; i < t->n; i++) {
		cleanup_arena struct arena arena = { 0 };
		const char *path = t->files[i].below;
		struct pair p;

		while (next_pair(&p, &arena, &path))
			if (add_pair(t, &p, err))
				return error_wrap(err, "%s", t->files[i].path);
	}
	for (size_t i = 0; i < t->n_keys; i++)
		if (!t->keys[i].has_value)
			return error_set(err, ERR_INVALID,
					 "%s: the partition %s is null everywhere: its "
					 "type is unknown",
					 t->files[0].path, t->keys[i].name);
	return 0;
}

/* ---- columns ---- */

/* A column is nullable if it is in one of the files, which have the same columns. */
static void merge_nullable(struct table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		size_t n;
		const struct field *f = parquet_columns(t->files[i].parquet, &n);

		for (size_t k = 0; k < n; k++)
			t->columns[k].nullable |= f[k].nullable;
	}
}

/* The files' columns, and the partitions', which replace columns of the same name. */
static int add_columns(struct table *t, struct error *err)
{
	const struct file *f = &t->files[0];
	const struct field *from = parquet_columns(f->parquet, &t->n_columns);
	size_t n = t->n_columns;

	t->columns = arena_alloc(&t->arena, (n + t->n_keys) * sizeof(*t->columns));
	if (n)
		memcpy(t->columns, from, n * sizeof(*from));
	merge_nullable(t);
	for (size_t k = 0; k < t->n_keys; k++) {
		const struct hive_key *key = &t->keys[k];
		const struct field column = {
			.name = arena_strdup(&t->arena, key->name),
			.kind = key->is_string ? ARROW_STRING : ARROW_INT32,
			.width = key->is_string ? 0 : 4,
			.nullable = true,
			.id = -1,
		};
		size_t i = 0;

		while (i < n && !str_eq(from[i].name, column.name))
			i++;
		if (i < n && table_column_check(f->path, &from[i], "its directory's name",
						&column, err))
			return -1;
		t->keys[k].column = i < n ? i : t->n_columns++;
		t->columns[t->keys[k].column] = column;
	}
	return 0;
}

/* The first directory of a key counts. */
static bool has_constant(const struct project_sides *s, int32_t id)
{
	for (size_t i = 0; i < s->n_constants; i++)
		if (s->constants[i].id == id)
			return true;
	return false;
}

static int project(struct table *t, struct file *f, struct error *err)
{
	struct project_constant *constants =
		arena_alloc(&t->arena, t->n_keys * sizeof(*constants));
	struct project_sides s = { .to = t->columns,
				   .n_to = t->n_columns,
				   .constants = constants,
				   .by_name = true };
	const char *path = f->below;
	struct pair p;

	while (next_pair(&p, &t->arena, &path)) {
		const struct hive_key *key = find_key(t, p.key);
		struct project_constant c = { .null = !p.value };

		c.id = key ? (int32_t)key->column : -1;
		if (!key || has_constant(&s, c.id))
			continue;
		if (p.value && !key->is_string)
			(void)!parse_int32(&c.number, p.value);
		else if (p.value)
			c.bytes = (struct bytes){ (const uint8_t *)p.value,
						  strlen(p.value) };
		constants[s.n_constants++] = c;
	}
	s.from = parquet_columns(f->parquet, &s.n_from);
	return projection_new(&f->projection, &s, err) ? error_wrap(err, "%s", f->path)
						       : 0;
}

int hive_columns(struct table *t, struct error *err)
{
	if (t->n && add_columns(t, err))
		return -1;
	for (size_t i = 0; i < t->n && t->n_keys; i++)
		if (project(t, &t->files[i], err))
			return -1;
	return 0;
}
