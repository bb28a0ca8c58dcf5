/* nearest.c - find the nearest word, and word "did you mean" (base/nearest.h). */
#include "base/nearest.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/str.h"

enum { MAX_WORD = 64, EDIT = 2, CASE_ONLY = 1, MIN_PART = 3 };

static int min_of(int a, int b)
{
	return a < b ? a : b;
}

static int substitution(char a, char b)
{
	if (a == b)
		return 0;
	return tolower((unsigned char)a) == tolower((unsigned char)b) ? CASE_ONLY : EDIT;
}

/* Optimal string alignment, in half edits; both words are shorter than MAX_WORD. */
static int distance(const char *a, const char *b)
{
	int row[3][MAX_WORD + 1];
	size_t n = strlen(b), i;

	for (size_t j = 0; j <= n; j++)
		row[0][j] = (int)j * EDIT;
	for (i = 1; a[i - 1]; i++) {
		int *now = row[i % 3], *last = row[(i + 2) % 3];
		const int *before = row[(i + 1) % 3];

		now[0] = (int)i * EDIT;
		for (size_t j = 1; j <= n; j++) {
			int best = last[j - 1] + substitution(a[i - 1], b[j - 1]);

			best = min_of(best, last[j] + EDIT);
			best = min_of(best, now[j - 1] + EDIT);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				best = min_of(best, before[j - 2] + EDIT);
			now[j] = best;
		}
	}
	return row[(i - 1) % 3][n];
}

/* Is `other` the whole of what `word` begins, or of what a '-' or '_' of `word` precedes? */
static bool is_part(const char *word, const char *other)
{
	size_t len = strlen(word), n = strlen(other);
	char before;

	if (n > len)
		return len >= MIN_PART && str_starts(other, word);
	if (n == len || n < MIN_PART || strcmp(word + len - n, other) != 0)
		return false;
	before = word[len - n - 1];
	return before == '-' || before == '_';
}

/* The shortest, as its name says the least that was not written. */
static const char *with_part(const char *word, const char *const *words)
{
	const char *found = NULL;

	for (; *words; words++)
		if (is_part(word, *words) && (!found || strlen(*words) < strlen(found)))
			found = *words;
	return found;
}

const char *nearest_word(const char *word, const char *const *words)
{
	const char *const *first = words;
	size_t len = strlen(word);
	const char *nearest = NULL;
	int best;

	if (!len || len >= MAX_WORD)
		return NULL;
	best = EDIT * (len < 5 ? 1 : 1 + (int)len / 4) + 1;
	for (; *words; words++) {
		int d;

		if (strlen(*words) >= MAX_WORD)
			continue;
		d = distance(word, *words);
		if (d < best && d < EDIT * (int)strlen(*words)) {
			best = d;
			nearest = *words;
		}
	}
	return nearest ? nearest : with_part(word, first);
}

const char *nearest_did_you_mean(struct arena *arena, const char *near)
{
	return arena_printf(arena, "did you mean '%s'?", near);
}

const char *nearest_hint(struct arena *arena, const char *word, const char *const *words)
{
	const char *near = nearest_word(word, words);

	return near ? arena_printf(arena, "; %s", nearest_did_you_mean(arena, near)) : "";
}
