/*
 * filter.h - which files are wanted: patterns as Python's fnmatch.fnmatchcase.
 *
 * `*` any characters, '/' too; `?` one; `[a-z]`, `[!a-z]` one of, none of. Case counts.
 * A pattern that ends in '/' means all that is below, as huggingface_hub
 * has it. A file is wanted when an allow pattern fits, or there are none, and no
 * ignore pattern does.
 */
#ifndef STORE_FILTER_H
#define STORE_FILTER_H

#include <stdbool.h>

#include "base/arena.h"

/* Upstream's for models; ignored are formats of weights that safetensors replace. */
#define FILTER_MODEL_ALLOW  "*.json,*.safetensors,*.model,*.txt,*.gguf"
#define FILTER_MODEL_IGNORE "*.msgpack,*.h5,*.bin,*.pt,*.pth"

struct filter {
	const char *const *allow, *const *ignore; /* end with NULL; NULL: none */
};

/* "*.bin, *.pt" as a list: items are trimmed, empty ones dropped. NULL: no list. */
const char *const *filter_list(struct arena *arena, const char *text);

bool filter_wants(const struct filter *f, const char *name);

bool fnmatch_case(const char *pattern, const char *name);

#endif
