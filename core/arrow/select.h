/*
 * select.h - keep some rows of a batch, in place.
 */
#ifndef ARROW_SELECT_H
#define ARROW_SELECT_H

#include "arrow/parquet.h"

/* Keep the rows whose bit in `keep` is set, in order. */
MUST_CHECK int batch_select(struct batch *b, const uint8_t *keep, struct budget *budget,
			    struct error *err);

#endif
