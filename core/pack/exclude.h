/*
 * exclude.h - decide which files of a workspace are excluded, and why.
 *
 * Excluded are keys, passwords and .git, by their names and regardless of ignore files;
 * what .kftrainerignore lists; Python environments (a directory, or a link to one, with
 * pyvenv.cfg or conda-meta) and the caches of common tools; and what .gitignore lists
 * (gitignore(5)), including those of directories above, up to the repository's root, and
 * .git/info/exclude there; whether git tracks a file does not matter. If several match a path, .kftrainerignore
 * decides. --include adds a path back.
 */
#ifndef PACK_EXCLUDE_H
#define PACK_EXCLUDE_H

#include <stdbool.h>
#include <stddef.h>

#include "pack/ignore.h"

enum exclude_reason {
	EXCLUDE_NOT, /* packed */
	EXCLUDE_KEY, /* by name: keys, passwords, .git */
	EXCLUDE_OWN, /* .kftrainerignore */
	EXCLUDE_ENV, /* a Python environment, or a cache */
	EXCLUDE_GIT, /* .gitignore */
	EXCLUDE_REASONS,
	EXCLUDE_NO_MATCH =
		EXCLUDE_REASONS, /* not reported: our own files, or below an excluded directory */
};

/* --include: paths below the directory, '/' between components, normalized. */
struct exclude_includes {
	const char *const *list;
	size_t n;
};

struct exclude {
	struct ignore keys, own, caches, git;
	const char *prefix; /* the directory's path in its repository: "a/b/", or "" */
	struct exclude_includes includes;
	bool *used; /* per include: was it found? */
	struct arena arena;
};

/*
 * Begin with the directory `dir`. ERR_INVALID: an include is not a path below it. Borrows
 * the list.
 */
MUST_CHECK int exclude_begin(struct exclude *l, const char *dir,
			     const struct exclude_includes *includes, struct error *err);

/* Ignore files in one directory (`path`, "" for the root) apply until exclude_exit(). */
struct exclude_mark {
	size_t own, git;
};
MUST_CHECK int exclude_enter(struct exclude *l, int root, const char *path,
			     struct exclude_mark *ret, struct error *err);
void exclude_exit(struct exclude *l, const struct exclude_mark *mark);

/*
 * Why `path`, below the open directory `root`, is excluded; ask about the directories above it first. `aside`: its
 * directory is excluded. *ret_enter: it is an excluded directory that contains an
 * include.
 */
enum exclude_reason exclude_ask(struct exclude *l, int root, const char *path,
				bool is_dir, bool aside, bool *ret_enter);

/* An include that was not found, or NULL. */
const char *exclude_missing(const struct exclude *l);

void exclude_release(struct exclude *l);

#endif
