/*
 * hf_put.h - files into a repository of a hub: its commit API, large ones by Git LFS.
 *
 * The hub says which files go by LFS (preupload) and what it has already; what it has
 * is not sent again. A commit has at most some 16 MiB of small files: a large folder
 * may make several. The token goes to the hub's own host alone.
 *
 * Follows huggingface_hub's _commit_api.py and lfs.py, and the Git LFS batch API.
 */
#ifndef STORE_HF_PUT_H
#define STORE_HF_PUT_H

#include "store/store.h"

struct hf_put_file {
	int root; /* the folder that `path` is opened below, without links; -1: `name` is */
	const char *path; /* in the repository, below the URI's folder */
	const char *name; /* on this machine */
	int64_t size;
};

struct hf_put_conf {
	const struct store_conf *store;
	const struct hf_put_file *files;
	size_t n;
	/* A file is there: `sent`, or already. */
	void (*done)(void *ctx, size_t i, bool sent);
	void *ctx;
};

MUST_CHECK int hf_put(const struct hf_put_conf *conf, struct error *err);

#endif
