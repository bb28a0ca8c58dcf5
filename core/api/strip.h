/*
 * strip.h - remove metadata.managedFields, and other unused lists, from the text of an
 * object before it is parsed. They are half of an API server's answers. And NUL.
 */
#ifndef API_STRIP_H
#define API_STRIP_H

#include <stddef.h>

/*
 * Edits the text in place; returns the new length. `depth`: the number of '{' before the
 * key: 2 in an object, 3 in a watch event. Only text without spaces, as apimachinery
 * prints it, is recognized; other text, valid or not, remains unchanged for json_parse().
 */
size_t strip_managed_fields(char *text, size_t len, int depth);
/* The same for a list of that name (at most 63 bytes) in spec. */
size_t strip_spec_list(char *text, size_t len, const char *name, int depth);
/* NUL in strings, which json_parse() refuses, becomes U+FFFD, in place. */
void strip_nul(char *text, size_t len);

#endif
