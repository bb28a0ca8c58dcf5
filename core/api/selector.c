/* selector.c - parses and matches label and field selectors (api/selector.h). */
#include "api/selector.h"

#include <string.h>

#include "api/names.h"
#include "base/str.h"

enum { MAX_VALUES = 1000 };
#define OPERATORS "=!<>,()"
#define BLANKS    " \t\r\n"

/* ---- labels ------------------------------------------------------------------------ */

struct scan {
	struct arena *arena;
	const char *at;
};

static void skip_blanks(struct scan *s)
{
	s->at += strspn(s->at, BLANKS);
}

/* A key or a value; "" if neither follows. */
static const char *scan_word(struct scan *s)
{
	size_t n;
	const char *word;

	skip_blanks(s);
	n = strcspn(s->at, OPERATORS BLANKS);
	word = str_slice(s->arena, s->at, n);
	s->at += n;
	skip_blanks(s);
	return word;
}

static bool scan_sign(struct scan *s, const char *sign)
{
	const char *after = str_after(s->at, sign);

	if (!after)
		return false;
	s->at = after;
	return true;
}

static bool scan_keyword(struct scan *s, const char *keyword)
{
	const char *after = str_after(s->at, keyword);

	if (!after || !*after || !strchr(BLANKS "(", *after))
		return false;
	s->at = after;
	return true;
}

static int unexpected(const struct scan *s, const char *wanted, struct error *err)
{
	return error_set(err, ERR_INVALID,
			 "unable to parse requirement: found '%.60s', expected: %s",
			 str_visible(s->arena, s->at, false), wanted);
}

/* "(a, b)", also "()" and "(a,)": the empty text is a value. */
static int scan_values(struct scan *s, struct requirement *r, struct error *err)
{
	const char **values = arena_alloc(s->arena, (MAX_VALUES + 1) * sizeof(*values));
	size_t n = 0;

	skip_blanks(s);
	if (!scan_sign(s, "("))
		return unexpected(s, "'('", err);
	do {
		if (n == MAX_VALUES)
			return error_set(err, ERR_LIMIT,
					 "a requirement has over %d values", MAX_VALUES);
		values[n++] = scan_word(s);
	} while (scan_sign(s, ","));
	if (!scan_sign(s, ")"))
		return unexpected(s, "',' or ')'", err);
	skip_blanks(s);
	r->values = values;
	return 0;
}

/* Parse the operator and values after a key. */
static int scan_rest(struct scan *s, struct requirement *r, struct error *err)
{
	static const struct {
		const char *sign;
		enum selector_op op;
	} signs[] = { { "!=", SELECTOR_NOT_IN },
		      { "==", SELECTOR_IN },
		      { "=", SELECTOR_IN },
		      { ">", SELECTOR_GREATER },
		      { "<", SELECTOR_LESS } };

	r->op = SELECTOR_EXISTS;
	if (!*s->at || *s->at == ',')
		return 0;
	for (size_t i = 0; i < N_ELEMENTS(signs); i++)
		if (scan_sign(s, signs[i].sign)) {
			const char **values = arena_alloc(s->arena, 2 * sizeof(*values));

			values[0] = scan_word(s);
			r->values = values;
			r->op = signs[i].op;
			return 0;
		}
	r->op = SELECTOR_IN;
	if (scan_keyword(s, "in"))
		return scan_values(s, r, err);
	r->op = SELECTOR_NOT_IN;
	if (scan_keyword(s, "notin"))
		return scan_values(s, r, err);
	return unexpected(s, "in, notin, =, ==, !=, gt, lt", err);
}

static int check_requirement(const struct requirement *r, struct error *err)
{
	const char *fault = name_key_invalid(r->key);
	bool number = r->op == SELECTOR_GREATER || r->op == SELECTOR_LESS;
	int64_t v;

	if (fault)
		return error_set(err, ERR_INVALID, "key: Invalid value: \"%.100s\": %s",
				 r->key, fault);
	for (const char *const *s = r->values; s && *s; s++) {
		if (number && str_int(&v, *s, INT64_MIN, INT64_MAX, IGNORED))
			return error_set(
				err, ERR_INVALID,
				"values[0]: Invalid value: \"%.100s\": for 'Gt', "
				"'Lt' operators, the value must be an integer",
				*s);
		fault = name_value_invalid(*s);
		if (fault)
			return error_set(err, ERR_INVALID,
					 "values[%d]: Invalid value: \"%.100s\": %s",
					 (int)(s - r->values), *s, fault);
	}
	return 0;
}

static int scan_requirement(struct scan *s, struct requirement *r, struct error *err)
{
	bool negative;

	skip_blanks(s);
	negative = scan_sign(s, "!");
	r->key = scan_word(s);
	if (!*r->key)
		return unexpected(s, "!, identifier, or 'end of string'", err);
	if (negative)
		r->op = SELECTOR_NOT_EXISTS;
	else if (scan_rest(s, r, err))
		return -1;
	return check_requirement(r, err);
}

int selector_labels(struct arena *arena, const char *text, const struct requirement **ret,
		    struct error *err)
{
	struct scan s = { arena, text };
	const struct requirement *first = NULL, **last = &first;

	if (strlen(text) > SELECTOR_MAX_BYTES)
		return error_set(err, ERR_LIMIT, "the selector has over %d bytes",
				 SELECTOR_MAX_BYTES);
	skip_blanks(&s);
	while (*s.at) {
		struct requirement *r = arena_alloc(arena, sizeof(*r));

		if (scan_requirement(&s, r, err))
			return -1;
		*last = r;
		last = &r->next;
		skip_blanks(&s);
		if (!*s.at)
			break;
		if (!scan_sign(&s, ","))
			return unexpected(&s, "',' or 'end of string'", err);
		skip_blanks(&s);
		if (!*s.at)
			return unexpected(&s, "identifier after ','", err);
	}
	*ret = first;
	return 0;
}

/* ---- fields ------------------------------------------------------------------------ */

/* Read up to a comma, unescaping; *ret_op_at: the position of "=" or "!=". */
static const char *field_term(struct arena *arena, const char **text, size_t *ret_key,
			      size_t *ret_value, bool *ret_not, const char **ret_wrong)
{
	char *out = arena_alloc(arena, strlen(*text) + 1);
	const char *p = *text;
	size_t n = 0;

	*ret_key = *ret_value = SIZE_MAX;
	for (; *p && *p != ','; p++) {
		bool sign = *p == '=' || (*p == '!' && p[1] == '=');

		if (sign && *ret_key == SIZE_MAX) {
			*ret_key = n;
			*ret_not = *p == '!';
			p += *ret_not || p[1] == '=';
			*ret_value = n;
			continue;
		}
		if (*p == '=' || (*p == '\\' && !(p[1] && strchr("\\,=", p[1]))))
			*ret_wrong = p;
		if (*p == '\\' && p[1])
			p++;
		out[n++] = *p;
	}
	*text = *p ? p + 1 : p;
	return out;
}

int selector_fields(struct arena *arena, const char *text, const struct requirement **ret,
		    struct error *err)
{
	const struct requirement *first = NULL, **last = &first;

	if (strlen(text) > SELECTOR_MAX_BYTES)
		return error_set(err, ERR_LIMIT, "the selector has over %d bytes",
				 SELECTOR_MAX_BYTES);
	while (*text) {
		struct requirement *r = arena_alloc(arena, sizeof(*r));
		const char **values = arena_alloc(arena, 2 * sizeof(*values));
		const char *start = text;
		size_t key, value;
		const char *wrong = NULL;
		bool negative = false;
		const char *term =
			field_term(arena, &text, &key, &value, &negative, &wrong);

		if (!*term && key == SIZE_MAX)
			continue;
		if (key == SIZE_MAX)
			return error_set(
				err, ERR_INVALID,
				"invalid selector: '%.100s'; can't understand '%.100s'",
				str_visible(arena, start, false),
				str_visible(arena, term, false));
		if (wrong)
			return error_set(err, ERR_INVALID,
					 "invalid field selector: '%.100s': write \\%.1s",
					 str_visible(arena, start, false), wrong);
		values[0] = term + value;
		r->key = str_slice(arena, term, key);
		r->op = negative ? SELECTOR_NOT_IN : SELECTOR_IN;
		r->values = values;
		*last = r;
		last = &r->next;
	}
	*ret = first;
	return 0;
}

/* ---- match ------------------------------------------------------------------------- */

static bool compare_holds(const struct requirement *r, const char *value)
{
	int64_t a, b;

	if (!value || str_int(&a, value, INT64_MIN, INT64_MAX, IGNORED) ||
	    str_int(&b, r->values[0], INT64_MIN, INT64_MAX, IGNORED))
		return false;
	return r->op == SELECTOR_GREATER ? a > b : a < b;
}

bool requirement_holds(const struct requirement *r, const char *value)
{
	switch (r->op) {
	case SELECTOR_IN:
		return value && str_in(value, r->values);
	case SELECTOR_NOT_IN:
		return !value || !str_in(value, r->values);
	case SELECTOR_EXISTS:
		return value;
	case SELECTOR_NOT_EXISTS:
		return !value;
	default:
		return compare_holds(r, value);
	}
}

bool selector_matches(const struct requirement *selector, const cJSON *labels)
{
	for (const struct requirement *r = selector; r; r = r->next)
		if (!requirement_holds(r, json_str(labels, r->key)))
			return false;
	return true;
}
