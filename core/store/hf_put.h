/*
 * hf_put.h - upload to a hub's repository, scheme_hf.put: commits, and Git LFS.
 *
 * The hub decides which files use LFS (preupload); files that it has are not sent again.
 * A commit has at most about 16 MiB of small files, so a large directory may need
 * several. The token is sent only to the hub's own host.
 *
 * Follows huggingface_hub's _commit_api.py and lfs.py, and the Git LFS batch API.
 */
#ifndef STORE_HF_PUT_H
#define STORE_HF_PUT_H

#include "store/put.h"
#include "store/store.h"

MUST_CHECK int hf_put(const struct put_conf *conf, struct error *err);

#endif
