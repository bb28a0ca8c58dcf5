/*
 * nearest.h - "did you mean": the most similar word.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include "base/arena.h"

/*
 * The nearest of the words (Damerau-Levenshtein; swapped adjacent letters count as one
 * edit, case as little): about one edit in three letters, one in up to four. If none is so
 * near, the shortest that `word` begins ("file": filename) or ends with after a '-' or '_'
 * ("num_nodes": nodes), of three letters or more; else NULL. `words` ends with NULL; the
 * first of equally near ones.
 */
const char *nearest_word(const char *word, const char *const *words);

/* The wording of a suggestion, in the arena: "did you mean 'x'?" */
const char *nearest_did_you_mean(struct arena *arena, const char *near);

/* The end of an error about a word: "; did you mean 'x'?", or "" if none is near. */
const char *nearest_hint(struct arena *arena, const char *word, const char *const *words);

#endif
