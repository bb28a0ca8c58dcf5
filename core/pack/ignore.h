/*
 * ignore.h - which files of a folder are left out: patterns as gitignore(5) has them.
 *
 * Comments, "!", "\", trailing "/", anchoring by "/", "*", "?", "[...]", "**"; the last
 * pattern that matches decides. Files of patterns in folders further down win over those
 * above; what is below a folder that is left out cannot be had back.
 */
#ifndef PACK_IGNORE_H
#define PACK_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum { IGNORE_MAX_BYTES = 1024 * 1024, IGNORE_MAX_RULES = 20000 };

struct ignore_rule;

/* The rules from the root down to the folder one is in. */
struct ignore {
	struct arena arena; /* of the rules; ends with all of it */
	struct ignore_rule **rules;
	size_t n, cap;
};

/*
 * Add the lines of one file of patterns. `dir` is the folder it lies in, relative to the
 * root, "" for the root itself. ERR_LIMIT: too many rules. To leave the folder again:
 * set n back to what it was.
 */
MUST_CHECK int ignore_add(struct ignore *ig, const char *dir, const char *text,
			  size_t len, struct error *err);

/*
 * What the last pattern that matches says. `path` is relative to the root, '/' between
 * parts; the folders above it have been asked about already.
 */
enum ignore_says {
	IGNORE_SILENT, /* none matches */
	IGNORE_OUT,
	IGNORE_IN, /* "!" */
};
enum ignore_says ignore_ask(const struct ignore *ig, const char *path, bool is_dir);

void ignore_release(struct ignore *ig);
#define cleanup_ignore __attribute__((cleanup(ignore_release)))

#endif
