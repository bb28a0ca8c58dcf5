/*
 * hf_put.h - files into a repository of a hub, scheme_hf.put: commits, and Git LFS.
 *
 * The hub says which files go by LFS (preupload) and what it has already; what it has
 * is not sent again. A commit has at most some 16 MiB of small files: a large folder
 * may make several. The token goes to the hub's own host alone.
 *
 * Follows huggingface_hub's _commit_api.py and lfs.py, and the Git LFS batch API.
 */
#ifndef STORE_HF_PUT_H
#define STORE_HF_PUT_H

#include "store/put.h"
#include "store/store.h"

MUST_CHECK int hf_put(const struct put_conf *conf, struct error *err);

#endif
