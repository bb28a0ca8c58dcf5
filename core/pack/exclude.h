/*
 * exclude.h - what a workspace leaves out, and why.
 *
 * Keys, passwords and .git by their names, whatever files of patterns say of them; what
 * .kftrainerignore names; what .gitignore names, also those above the folder up to that
 * of its repository (gitignore(5); that git tracks a file all the same does not count).
 * Where both files say something about a path, .kftrainerignore decides. A path that was
 * asked for by name goes along.
 */
#ifndef PACK_EXCLUDE_H
#define PACK_EXCLUDE_H

#include <stdbool.h>
#include <stddef.h>

#include "pack/ignore.h"

enum exclude_reason {
	EXCLUDE_NOT, /* it goes along */
	EXCLUDE_KEY, /* by its name: keys, passwords, .git */
	EXCLUDE_OWN, /* .kftrainerignore */
	EXCLUDE_GIT, /* .gitignore */
	EXCLUDE_REASONS,
	EXCLUDE_UNSAID =
		EXCLUDE_REASONS, /* not worth a word: ours, or in what is left out */
};

/* What was asked for: paths below the folder, '/' between parts, made plain. */
struct exclude_includes {
	const char *const *list;
	size_t n;
};

struct exclude {
	struct ignore keys, own, git;
	const char *prefix; /* of the folder in its repository: "a/b/", or "" */
	struct exclude_includes includes;
	bool *used; /* for each of them: it is there */
	struct arena arena;
};

/*
 * What holds for the folder `dir` as a whole. ERR_INVALID: an include is no path below
 * it. The list stays the caller's.
 */
MUST_CHECK int exclude_begin(struct exclude *l, const char *dir,
			     const struct exclude_includes *includes, struct error *err);

/* The files of patterns in one folder (`path`, "" for the root) count until exclude_exit(). */
struct exclude_mark {
	size_t own, git;
};
MUST_CHECK int exclude_enter(struct exclude *l, int root, const char *path,
			     struct exclude_mark *ret, struct error *err);
void exclude_exit(struct exclude *l, const struct exclude_mark *mark);

/*
 * Why `path` stays behind; the folders above it have been asked about already. `aside`:
 * so does the folder that it is in. *ret_enter: it is a folder that stays behind but for
 * what was asked for by name below it.
 */
enum exclude_reason exclude_ask(struct exclude *l, const char *path, bool is_dir,
				bool aside, bool *ret_enter);

/* An include that was never met, or NULL. */
const char *exclude_missing(const struct exclude *l);

void exclude_release(struct exclude *l);

#endif
