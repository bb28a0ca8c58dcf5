/*
 * select.h - some rows of a batch, in place.
 */
#ifndef ARROW_SELECT_H
#define ARROW_SELECT_H

#include "arrow/parquet.h"

/* The rows whose bit of `keep` is set, in their order. */
MUST_CHECK int batch_select(struct batch *b, const uint8_t *keep, struct budget *budget,
			    struct error *err);

#endif
