/*
 * str.h - strings: questions about them, pieces of them, text and bytes.
 *
 * Functions that make a string take the arena it lives in. NULL is allowed only where
 * noted.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

#define STR_BOM \
	"\xef\xbb\xbf" /* UTF-8's byte order mark, as editors of Windows write it */

bool str_eq(const char *a, const char *b); /* NULL is equal to NULL only */
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);

/* The rest of s after the prefix; NULL when s does not begin with it. */
const char *str_after(const char *s, const char *prefix);

/* Is s one of the words? `words` ends with NULL. */
bool str_in(const char *s, const char *const *words);

/* A copy without white space at either end. */
char *str_trim(struct arena *arena, const char *s);

/* The length of s without those characters at its end. */
size_t str_length_before(const char *s, char end);

/* "512 B", "3.2 MiB": binary units, one decimal. */
char *str_size(struct arena *arena, int64_t bytes);

/* Overwrite a secret's characters with zeros; NULL is fine. */
void str_wipe(const char *s);
void str_wipe_free(char *s);

/* The first len bytes of s, as a string. */
char *str_slice(struct arena *arena, const char *s, size_t len);

/* s, or its beginning of at most max bytes that does not cut a character of UTF-8. */
char *str_at_most(struct arena *arena, const char *s, size_t max);

/*
 * The parts between the separators, empty ones too: "a,,b" is 3, "" is 1. The
 * list ends with NULL; ret_n may be NULL.
 */
char **str_split(struct arena *arena, const char *s, char sep, size_t *ret_n);

/* As a word of sh: quoted where it must be. In the arena. */
const char *str_sh(struct arena *arena, const char *s);

/* "a, b, c" is str_join(arena, words, ", "); words end with NULL. */
char *str_join(struct arena *arena, const char *const *words, const char *sep);

/* Does it have a control character of ASCII that is not one of `but`? */
bool str_has_control(const char *s, const char *but);

/*
 * For a terminal: control characters, marks that change the direction of writing, and
 * invalid UTF-8 are escaped as "\x1b", "\u202e". Tabs are kept and, with `lines`,
 * newlines.
 */
char *str_visible(struct arena *arena, const char *s, bool lines);

/*
 * A decimal integer, all of s: no white space, no '+', within [min, max].
 * The message says what was found and what the range is, not where.
 */
MUST_CHECK int str_int(int64_t *ret, const char *s, int64_t min, int64_t max,
		       struct error *err);

/*
 * The length (1 to 4) of the UTF-8 character at p, or 0 for an invalid one:
 * overlong forms, surrogates and code points past U+10FFFF do not count.
 */
size_t utf8_length(const void *p, const void *end);
size_t utf8_decode(const void *p, const void *end, uint32_t *ret); /* and which it is */
bool utf8_valid(const void *data, size_t len);
/* The text with U+FFFD for each invalid byte, as Go's encoding/json writes it. */
const char *utf8_clean(struct arena *arena, const char *text);
/* The largest length <= max that does not cut a character. */
size_t utf8_cut(const void *data, size_t len, size_t max);

/* RFC 4648 base64 with padding. Decoding is strict: no white space, no bits left over. */
void base64_encode(struct buf *out, const void *data, size_t len);
MUST_CHECK int base64_decode(struct buf *out, const char *text, size_t len,
			     struct error *err);
/* Likewise with - and _ and without padding (RFC 4648 5). */
void base64url_encode(struct buf *out, const void *data, size_t len);
MUST_CHECK int base64url_decode(struct buf *out, const char *text, size_t len,
				struct error *err);

void hex_encode(struct buf *out, const void *data, size_t len); /* lower case */
MUST_CHECK int hex_decode(struct buf *out, const char *text, size_t len,
			  struct error *err);

#endif
