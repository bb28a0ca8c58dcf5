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
#include <stddef.h>

#include "base/arena.h"

/* Upstream's for models; ignored are formats of weights that safetensors replace. */
#define FILTER_MODEL_ALLOW  "*.json,*.safetensors,*.model,*.txt,*.gguf"
#define FILTER_MODEL_IGNORE "*.msgpack,*.h5,*.bin,*.pt,*.pth"

struct filter {
	const char *const *allow, *const *ignore; /* end with NULL; NULL: none */
	bool allow_given, ignore_given; /* by somebody who meant it; else defaults */
	bool has_weights;               /* a model: see filter_look() */
	const char *const *rescued;     /* files that no default leaves out; or NULL */
};

/* "*.bin, *.pt" as a list: items are trimmed, empty ones dropped. NULL: no list. */
const char *const *filter_list(struct arena *arena, const char *text);

/* `named`: somebody has asked for just this file, which no default leaves out. */
bool filter_wants(const struct filter *f, const char *name, bool named);

/* What became of the names of a listing. */
enum { FILTER_SHOWN = 3, FILTER_FORMATS = 4 };
struct filter_look {
	const struct filter *filter;
	struct arena arena;
	size_t n;                        /* left out, by defaults alone */
	const char *names[FILTER_SHOWN]; /* the first of them */
	bool missed[FILTER_FORMATS];     /* weights of that format, which were left out */
	bool weights;                    /* some were not */
};
/* As `wanted` of a scheme: filter_wants(), and what there is to know later. */
bool filter_look(struct filter_look *look, const char *name, bool named);
/*
 * A model without weights is none: the formats to be rescued, where all of them were
 * left out, the best there is. NULL: there are some, or none at all.
 */
const char *const *filter_rescue(const struct filter_look *look);
void filter_look_release(struct filter_look *look);

bool fnmatch_case(const char *pattern, const char *name);

#endif
