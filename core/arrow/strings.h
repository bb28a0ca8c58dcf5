/* strings.h - decode values of variable length; for values.c only. */
#ifndef ARROW_STRINGS_H
#define ARROW_STRINGS_H

#include "arrow/values.h"

MUST_CHECK int strings_begin_lengths(struct values *v, struct error *err);
MUST_CHECK int strings_begin_prefixes(struct values *v, struct error *err);

/* n indexes, each within the dictionary. */
MUST_CHECK int strings_indexes(struct values *v, uint32_t *at, size_t n,
			       struct error *err);
/* As values_take(), for an array with offsets. */
MUST_CHECK int strings_take(struct values *v, struct array *a, uint64_t n, uint64_t m,
			    struct error *err);
/* Strings whose length must be the leaf's width. */
MUST_CHECK int strings_take_fixed(struct values *v, uint8_t *to, uint64_t m,
				  struct error *err);
MUST_CHECK int strings_take_decimals(struct values *v, uint8_t *to, uint64_t m,
				     struct error *err);

#endif
