/* Matches file names with patterns; see filter.h. */
#include "store/filter.h"

#include <string.h>

#include "base/str.h"

/* Read the character at *p and advance *p; an invalid byte is one character. */
static uint32_t next_char(const char **p)
{
	uint32_t c = (unsigned char)**p;
	size_t len = utf8_decode(*p, *p + strlen(*p), &c);

	*p += len ? len : 1;
	return c;
}

/* The ']' that ends a set, or NULL: then '[' is an ordinary character. */
static const char *set_end(const char *p)
{
	p++;
	if (*p == '!')
		p++;
	if (*p == ']')
		p++;
	return strchr(p, ']');
}

static bool in_set(const char *p, const char *end, uint32_t c)
{
	bool negated = *p == '!', found = false;

	if (negated)
		p++;
	while (p < end) {
		uint32_t low = next_char(&p), high = low;

		if (p + 1 < end && *p == '-') {
			p++;
			high = next_char(&p);
		}
		found |= low <= c && c <= high;
	}
	return found != negated;
}

/* Does the pattern's first element, not '*', match the first character? Advances both. */
static bool step(const char **pattern, const char **name)
{
	const char *end;
	uint32_t c;

	if (!**name)
		return false;
	c = next_char(name);
	end = **pattern == '[' ? set_end(*pattern) : NULL;
	if (end) {
		bool fits = in_set(*pattern + 1, end, c);

		*pattern = end + 1;
		return fits;
	}
	if (**pattern == '?') {
		(*pattern)++;
		return true;
	}
	return next_char(pattern) == c;
}

bool filter_fnmatch(const char *pattern, const char *name)
{
	const char *star = NULL, *star_name = NULL;

	for (;;) {
		if (*pattern == '*') {
			star = ++pattern;
			star_name = name;
			continue;
		}
		if (!*pattern && !*name)
			return true;
		if (*pattern && step(&pattern, &name))
			continue;
		/* let the last '*' match one more character */
		if (!star || !*star_name)
			return false;
		next_char(&star_name);
		pattern = star;
		name = star_name;
	}
}

const char *const *filter_list(struct arena *arena, const char *text)
{
	size_t n = 0, kept = 0;
	char **items = text && *text ? str_split(arena, text, ',', &n) : NULL;

	for (size_t i = 0; i < n; i++) {
		char *item = str_trim(arena, items[i]);

		if (*item && str_ends(item, "/"))
			item = arena_printf(arena, "%s*", item);
		if (*item)
			items[kept++] = item;
	}
	if (!kept)
		return NULL;
	items[kept] = NULL;
	return (const char *const *)items;
}

static bool any_fits(const char *const *patterns, const char *name)
{
	for (; patterns && *patterns; patterns++)
		if (filter_fnmatch(*patterns, name))
			return true;
	return false;
}

bool filter_wants(const struct filter *f, const char *name, bool named)
{
	bool needed = named || any_fits(f->fallback, name);

	if (f->allow && !(needed && !f->allow_given) && !any_fits(f->allow, name))
		return false;
	return (needed && !f->ignore_given) || !any_fits(f->ignore, name);
}

static const char *const preferred[] = { "*.safetensors", "*.gguf", NULL };
/* Weight formats that the defaults exclude, the best first. */
static const char *const formats[FILTER_FORMATS][5] = {
	{ "*.bin", "*.pt", "*.pth", "*.ckpt", NULL },
	{ "*.h5", "*.keras", NULL },
	{ "*.msgpack", "*.npz", NULL },
	{ "*.onnx", NULL },
};

static bool excluded_by_default(const struct filter *f, const char *name)
{
	struct filter given = { .allow = f->allow_given ? f->allow : NULL,
				.ignore = f->ignore_given ? f->ignore : NULL };

	return filter_wants(&given, name, false);
}

bool filter_apply(struct filter_stats *stats, const char *name, bool named)
{
	const struct filter *f = stats->filter;
	bool wanted = filter_wants(f, name, named);

	stats->weights |= wanted && any_fits(preferred, name);
	for (size_t i = 0; i < FILTER_FORMATS; i++) {
		if (!any_fits(formats[i], name))
			continue;
		stats->weights |= wanted;
		stats->missed[i] |= !wanted && excluded_by_default(f, name);
	}
	if (!wanted && excluded_by_default(f, name)) {
		if (stats->n < FILTER_SHOWN)
			stats->names[stats->n] = arena_strdup(&stats->arena, name);
		stats->n++;
	}
	return wanted;
}

const char *const *filter_fallback(const struct filter_stats *stats)
{
	if (!stats->filter->has_weights || stats->weights)
		return NULL;
	for (size_t i = 0; i < FILTER_FORMATS; i++)
		if (stats->missed[i])
			return formats[i];
	return NULL;
}

void filter_stats_release(struct filter_stats *stats)
{
	arena_clear(&stats->arena);
}
