/*
 * ignore.h - patterns as in gitignore(5).
 *
 * Supports comments, "!", "\", a trailing "/", anchoring by "/", "*", "?", "[...]" and
 * "**". The last matching pattern decides; files in deeper directories come later.
 * Nothing below an excluded directory can be included again.
 */
#ifndef PACK_IGNORE_H
#define PACK_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum { IGNORE_MAX_BYTES = 1024 * 1024, IGNORE_MAX_RULES = 20000 };

struct ignore_rule;

/* The rules from the root down to the current directory. */
struct ignore {
	struct arena arena; /* of the rules */
	struct ignore_rule **rules;
	size_t n, cap;
};

/*
 * Add the lines of one file. `dir` is its directory, relative to the root, "" for the
 * root itself. ERR_LIMIT: too many rules. To leave the directory, restore n.
 */
MUST_CHECK int ignore_add(struct ignore *ig, const char *dir, const char *text,
			  size_t len, struct error *err);

/*
 * Look up `path`, relative to the root and with '/' between components; ask about the
 * directories above it first.
 */
enum ignore_says {
	IGNORE_NO_MATCH, /* no pattern matches */
	IGNORE_OUT,
	IGNORE_IN, /* "!" */
};
enum ignore_says ignore_ask(const struct ignore *ig, const char *path, bool is_dir);

void ignore_release(struct ignore *ig);
#define cleanup_ignore __attribute__((cleanup(ignore_release)))

#endif
