/* Parses and matches patterns of gitignore(5); see ignore.h. */
#include "pack/ignore.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/xmalloc.h"

enum token_type {
	LITERAL, /* this byte */
	ANY,     /* any byte but '/' */
	SET,     /* a byte of the set, never '/' */
	STAR,    /* any bytes but '/' */
	FOLDERS, /* "**" and its '/': any number of directories, also none */
	ALL,     /* "**" at the end: any bytes */
};

struct token {
	enum token_type type;
	unsigned char byte;
	uint32_t *set; /* 256 bits */
};

struct ignore_rule {
	const char *dir;
	size_t dir_len;
	bool negated, dirs_only, anchored;
	struct token *tokens;
	size_t n;
};

/* ---- sets: "[a-z]", "[!ab]", "[[:digit:]]" ---- */

static void set_bit(uint32_t *set, unsigned c)
{
	set[c / 32] |= (uint32_t)1 << c % 32;
}

static bool has_bit(const uint32_t *set, unsigned c)
{
	return set[c / 32] >> c % 32 & 1;
}

static int is_blank(int c)
{
	return c == ' ' || c == '\t';
}

/* "[:name:]", p after its "[:". NULL: unknown class. */
static const char *add_class(uint32_t *set, const char *p, const char *end)
{
	static const struct {
		const char *name;
		int (*is)(int c);
	} classes[] = {
		{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", is_blank },
		{ "cntrl", iscntrl }, { "digit", isdigit }, { "graph", isgraph },
		{ "lower", islower }, { "print", isprint }, { "punct", ispunct },
		{ "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
	};
	size_t len = (size_t)(end - p);

	for (size_t i = 0; i < N_ELEMENTS(classes); i++) {
		if (strlen(classes[i].name) != len || memcmp(classes[i].name, p, len))
			continue;
		for (int c = 0; c < 128; c++)
			if (classes[i].is(c))
				set_bit(set, (unsigned)c);
		return end + 2;
	}
	return NULL;
}

/* One byte of a set, unescaped. NULL: the pattern ends in it. */
static const char *set_byte(const char *p, unsigned char *ret)
{
	if (*p == '\\')
		p++;
	*ret = (unsigned char)*p;
	return *p ? p + 1 : NULL;
}

/* After the ":" of "[:name:]", or NULL if it is not a class. */
static const char *class_end(const char *p)
{
	const char *end;

	if (p[0] != '[' || p[1] != ':')
		return NULL;
	end = strchr(p + 2, ']');
	return end && end > p + 2 && end[-1] == ':' ? end - 1 : NULL;
}

/* "a" or "a-z". NULL: the pattern ends in it. */
static const char *add_range(uint32_t *set, const char *p)
{
	unsigned char from, to;

	p = set_byte(p, &from);
	if (!p)
		return NULL;
	to = from;
	if (p[0] == '-' && p[1] && p[1] != ']')
		p = set_byte(p + 1, &to);
	set_bit(set, from); /* also if the range is empty, as in git */
	for (unsigned c = from; p && c <= to; c++)
		set_bit(set, c);
	return p;
}

/* p after the "[" (and "!"); NULL: not a set, and the pattern matches nothing. */
static const char *read_set(uint32_t *set, const char *p)
{
	const char *end, *first = p;

	while (p && *p && (*p != ']' || p == first)) {
		end = class_end(p);
		p = end ? add_class(set, p + 2, end) : add_range(set, p);
	}
	return p && *p ? p + 1 : NULL;
}

static const char *add_set(struct arena *arena, struct token *t, const char *p)
{
	bool negated = *p == '!' || *p == '^';

	*t = (struct token){ .type = SET, .set = arena_alloc(arena, 256 / 8) };
	p = read_set(t->set, p + negated);
	for (int i = 0; negated && i < 256 / 32; i++)
		t->set[i] = ~t->set[i];
	t->set['/' / 32] &= ~((uint32_t)1 << '/' % 32);
	return p;
}

/* ---- patterns ---- */

/* p at the first of one or more '*'. */
static const char *add_stars(struct token *t, const char *pattern, const char *p)
{
	bool begins = p == pattern || p[-1] == '/';
	size_t n = strspn(p, "*");

	p += n;
	t->type = STAR;
	if (n < 2 || !begins)
		return p;
	if (!*p) {
		t->type = ALL;
	} else if (*p == '/' || (p[0] == '\\' && p[1] == '/')) {
		t->type = FOLDERS;
		return p + (*p == '/' ? 1 : 2);
	}
	return p;
}

static const char *add_token(struct arena *arena, struct token *t, const char *pattern,
			     const char *p)
{
	switch (*p) {
	case '*':
		return add_stars(t, pattern, p);
	case '?':
		t->type = ANY;
		return p + 1;
	case '[':
		return add_set(arena, t, p + 1);
	case '\\':
		if (!*++p)
			return NULL;
		break;
	default:
		break;
	}
	*t = (struct token){ .type = LITERAL, .byte = (unsigned char)*p };
	return p + 1;
}

/* False: the pattern matches nothing. */
static bool compile(struct arena *arena, struct ignore_rule *rule, const char *pattern)
{
	const char *p = pattern;

	rule->tokens = arena_alloc(arena, (strlen(pattern) + 1) * sizeof(*rule->tokens));
	while (p && *p)
		p = add_token(arena, &rule->tokens[rule->n++], pattern, p);
	return p != NULL && rule->n;
}

static void push(struct ignore *ig, struct ignore_rule *rule)
{
	if (ig->n == ig->cap) {
		ig->cap = ig->cap ? 2 * ig->cap : 16;
		ig->rules = xreallocarray(ig->rules, ig->cap, sizeof(*ig->rules));
	}
	ig->rules[ig->n++] = rule;
}

/* Parse a line without its newline. */
static void add_line(struct ignore *ig, const char *dir, char *line)
{
	struct ignore_rule *rule;
	size_t len = strlen(line);

	if (!len || *line == '#')
		return;
	rule = arena_alloc(&ig->arena, sizeof(*rule));
	rule->dir = dir;
	rule->dir_len = strlen(dir);
	if (*line == '!') {
		rule->negated = true;
		line++;
		len--;
	}
	if (len && line[len - 1] == '/') {
		rule->dirs_only = true;
		line[--len] = 0;
	}
	rule->anchored = strchr(line, '/') != NULL;
	if (compile(&ig->arena, rule, line + (*line == '/')))
		push(ig, rule);
}

/* Trailing spaces are ignored unless escaped by "\". */
static void trim(char *line)
{
	size_t end = 0, i = 0;

	for (; line[i]; i++) {
		if (line[i] == '\\' && line[i + 1])
			i++;
		else if (line[i] == ' ')
			continue;
		end = i + 1;
	}
	line[end] = 0;
}

int ignore_add(struct ignore *ig, const char *dir, const char *text, size_t len,
	       struct error *err)
{
	const char *end = text + len;

	dir = arena_strdup(&ig->arena, dir);
	if (len >= strlen(STR_BOM) && !memcmp(text, STR_BOM, strlen(STR_BOM)))
		text += strlen(STR_BOM);
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		const char *next = stop ? stop + 1 : end;
		size_t n = (size_t)((stop ? stop : end) - text);
		char *line;

		if (n && text[n - 1] == '\r')
			n--;
		line = str_slice(&ig->arena, text, n);
		trim(line);
		add_line(ig, dir, line);
		if (ig->n > IGNORE_MAX_RULES)
			return error_set(err, ERR_LIMIT, "more than %d patterns",
					 IGNORE_MAX_RULES);
		text = next;
	}
	return 0;
}

/* ---- matching ---- */

/*
 * States of the match, all followed at once, so that time is bounded by the product of
 * both lengths: bit i is "before token i".
 */
struct positions {
	unsigned char *now, *next;
};

/* Add the states after tokens that may match nothing. */
static void reach(const struct ignore_rule *rule, unsigned char *set, size_t i)
{
	for (; !set[i]; i++) {
		set[i] = 1;
		if (i == rule->n ||
		    (rule->tokens[i].type != STAR && rule->tokens[i].type != ALL &&
		     rule->tokens[i].type != FOLDERS))
			return;
	}
}

/*
 * FOLDERS matches the empty string only at its start, or after a '/': within a
 * directory's name set[i] stays 1 and does not reach what follows.
 */
static void step(const struct ignore_rule *rule, struct positions *p, unsigned char c)
{
	memset(p->next, 0, rule->n + 1);
	for (size_t i = 0; i < rule->n; i++) {
		const struct token *t = &rule->tokens[i];

		if (!p->now[i])
			continue;
		if (t->type == FOLDERS && c != '/')
			p->next[i] = 1;
		else if (t->type == FOLDERS || t->type == ALL ||
			 (t->type == STAR && c != '/'))
			reach(rule, p->next, i);
		else if ((t->type == LITERAL && t->byte == c) ||
			 (t->type == ANY && c != '/') ||
			 (t->type == SET && has_bit(t->set, c)))
			reach(rule, p->next, i + 1);
	}
}

static bool match(const struct ignore_rule *rule, const char *text)
{
	unsigned char few[2][256], *many = NULL;
	struct positions p = { few[0], few[1] };
	bool matched;

	if (rule->n + 1 > sizeof(few[0])) {
		many = xmalloc(2 * (rule->n + 1));
		p = (struct positions){ many, many + rule->n + 1 };
	}
	memset(p.now, 0, rule->n + 1);
	reach(rule, p.now, 0);
	for (; *text; text++) {
		unsigned char *now = p.next;

		step(rule, &p, (unsigned char)*text);
		p.next = p.now;
		p.now = now;
	}
	matched = p.now[rule->n];
	free(many);
	return matched;
}

static bool applies(const struct ignore_rule *rule, const char *path, bool is_dir)
{
	const char *slash;

	if (rule->dirs_only && !is_dir)
		return false;
	if (rule->dir_len) {
		if (strncmp(path, rule->dir, rule->dir_len) != 0 ||
		    path[rule->dir_len] != '/')
			return false;
		path += rule->dir_len + 1;
	}
	slash = rule->anchored ? NULL : strrchr(path, '/');
	return match(rule, slash ? slash + 1 : path);
}

enum ignore_says ignore_ask(const struct ignore *ig, const char *path, bool is_dir)
{
	for (size_t i = ig->n; i-- > 0;)
		if (applies(ig->rules[i], path, is_dir))
			return ig->rules[i]->negated ? IGNORE_IN : IGNORE_OUT;
	return IGNORE_NO_MATCH;
}

void ignore_release(struct ignore *ig)
{
	arena_clear(&ig->arena);
	free(ig->rules);
	*ig = (struct ignore){ 0 };
}
