/*
 * hf_uri.h - parse hf:// URIs.
 *
 *     hf://org/name            hf://name           hf://org/name@revision
 *     hf://org/name/folder     hf://datasets/org/name@refs/pr/1/folder
 *
 * As upstream's initializers parse them (the first two parts are the repository), with
 * the additions of huggingface_hub's URIs: names without an organization, "datasets/" and
 * "models/" before the name, "@revision" (a branch, tag or commit; with "/" as %2F, except
 * in refs/pr/N and refs/convert/X), a folder or file in the repository, of which nothing is
 * decoded. "?revision=" after the name is the same as '@'.
 */
#ifndef STORE_HF_URI_H
#define STORE_HF_URI_H

#include <stdbool.h>

#include "base/arena.h"

struct hf_repo {
	const char *kind;     /* "models" or "datasets", as the hub's API calls them */
	const char *id;       /* "org/name" or "name" */
	const char *revision; /* decoded; "main" when the URI has none */
	const char *folder;   /* "a/b", or ""; may be a file */
};

/* `model`: the kind if the URI does not say. ERR_INVALID. */
MUST_CHECK int hf_repo_parse(struct hf_repo *ret, struct arena *arena, const char *uri,
			     bool model, struct error *err);

/*
 * The URI of what a page of the hub shows, by the page's path: of org/name/tree/v1/dir it
 * is hf://models/org/name@v1/dir. NULL: the page is of no repository.
 */
const char *hf_uri_of_page(struct arena *arena, const char *path);

/* "org/name" or "name", as the hub allows them? */
bool hf_id_valid(const char *id);

#endif
