/* yaml_cause.c - what is wrong in a text that is no YAML (base/yaml_node.h). */
#include <string.h>

#include "base/str.h"
#include "base/yaml_node.h"

/* What looks like a space or a ':', but is none for YAML. */
static const struct {
	const char *bytes, *say;
} lookalikes[] = {
	{ "\xc2\xa0", "this is a no-break space (U+00A0): type a space in its place" },
	{ "\xe3\x80\x80", "this is a wide space (U+3000): type a space in its place" },
	{ "\xe2\x80\x8b", "a space of no width (U+200B) is here: remove it" },
	{ "\xef\xbc\x9a", "this is a wide colon (U+FF1A): type ': ' in its place" },
};

static const char in_keys[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789_.-";

/* "key:value", but not a URL. The place of the ':', or NULL. */
static const char *tight_colon(const char *key)
{
	const char *end = key + strspn(key, in_keys);

	return end > key && *end == ':' && end[1] && !strchr(" /", end[1]) ? end : NULL;
}

/* The cause in the line, whose end is what YAML reads as it stands, or NULL. */
static const char *cause_in(char *line, const char **ret_at)
{
	const char *text;

	line[strcspn(line, "\"'#\r")] = '\0';
	text = line + strspn(line, " ");
	for (size_t i = 0; i < N_ELEMENTS(lookalikes); i++) {
		*ret_at = strstr(line, lookalikes[i].bytes);
		if (*ret_at)
			return lookalikes[i].say;
	}
	*ret_at = text;
	if (str_starts(text, "//") || str_starts(text, "/*"))
		return "this is no comment in YAML or JSON: remove it";
	if (*text == '-' && text[1] && !strchr(" -", text[1]))
		return "write a space after this '-'";
	while (str_starts(text, "- "))
		text += 2;
	*ret_at = tight_colon(text);
	return *ret_at ? "write a space after this ':'" : NULL;
}

const char *yaml_cause(struct arena *arena, const char *data, size_t len, size_t *at)
{
	size_t end = *at, begin;

	while (end < len && data[end] != '\n')
		end++;
	for (int lines = 0; lines < 2; end = begin - 1) {
		const char *before = memrchr(data, '\n', end), *say, *found;
		char *line;

		begin = before ? (size_t)(before - data) + 1 : 0;
		line = str_slice(arena, data + begin, end - begin);
		say = cause_in(line, &found);
		if (say) {
			*at = begin + (size_t)(found - line);
			return say;
		}
		/* after a key of this line: the one before is not at fault */
		if (*at <= end && memmem(data + begin, *at - begin, ": ", 2))
			return NULL;
		lines += line[strspn(line, " \t")] != '\0';
		if (!begin)
			break;
	}
	return NULL;
}
