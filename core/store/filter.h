/*
 * filter.h - selects files: patterns as in Python's fnmatch.fnmatchcase.
 *
 * `*` any characters, '/' too; `?` one; `[a-z]`, `[!a-z]` one of, none of.
 * Case-sensitive. A pattern that ends in '/' means all below, as in huggingface_hub. A
 * file is wanted if an allow pattern matches, or none is given, and no ignore pattern
 * does.
 */
#ifndef STORE_FILTER_H
#define STORE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/*
 * Upstream's for models, and templates and vocabularies without which a tokenizer fails;
 * ignored are formats of weights that safetensors replace.
 */
#define FILTER_MODEL_ALLOW  "*.json,*.safetensors,*.model,*.txt,*.gguf,*.jinja,*.tiktoken"
#define FILTER_MODEL_IGNORE "*.msgpack,*.h5,*.bin,*.pt,*.pth"

struct filter {
	const char *const *allow, *const *ignore; /* end with NULL; NULL: none */
	bool allow_given, ignore_given;           /* set explicitly; else defaults */
	bool has_weights;                         /* a model: see filter_fallback() */
	const char *const *fallback;              /* kept despite defaults; or NULL */
};

/* "*.bin, *.pt" as a list: items are trimmed, empty ones dropped. NULL: no list. */
const char *const *filter_list(struct arena *arena, const char *text);

/* `named`: the URI names this file, so no default leaves it out. */
bool filter_wants(const struct filter *f, const char *name, bool named);

/* The effect of a filter on a listing. */
enum { FILTER_SHOWN = 3, FILTER_FORMATS = 4 };
struct filter_stats {
	const struct filter *filter;
	struct arena arena;
	size_t n;                        /* names that only the defaults exclude */
	const char *names[FILTER_SHOWN]; /* the first of them */
	bool missed[FILTER_FORMATS];     /* weights of that format were excluded */
	bool weights;                    /* some weights were not */
};
/* filter_wants(), counted in *stats; for scheme->list's `wanted`. */
bool filter_apply(struct filter_stats *stats, const char *name, bool named);
/*
 * If the defaults excluded all of a model's weights: the patterns of the best format, for
 * filter.fallback. NULL: some weights remain, or there are none.
 */
const char *const *filter_fallback(const struct filter_stats *stats);
void filter_stats_release(struct filter_stats *stats);

bool filter_fnmatch(const char *pattern, const char *name);

#endif
