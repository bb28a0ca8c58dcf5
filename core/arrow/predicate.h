/*
 * predicate.h - conditions that rows have to meet: [["age", ">=", 18], ["city", "in",
 * ["Rome", "Oslo"]], ["text", "is null", false]].
 *
 * All must hold; one alone is a list of one. Operators: =, !=, <, <=, >, >=, in, is null.
 * A null meets no condition except "is null". Literals are written as text.h prints
 * values: numbers, booleans and strings; decimals, dates and times are strings, bytes
 * base64.
 */
#ifndef ARROW_PREDICATE_H
#define ARROW_PREDICATE_H

#include "arrow/parquet.h"
#include "base/cleanup.h"

struct predicate;

/* ERR_INVALID: another form, an unknown column, a literal of the wrong type. */
MUST_CHECK int predicate_parse(struct predicate **ret, const void *json, size_t len,
			       const struct field *columns, size_t n, struct error *err);
void predicate_free(struct predicate *p); /* NULL is fine */

size_t predicate_conditions(const struct predicate *p);
size_t predicate_column(const struct predicate *p, size_t condition);

/* Clears the bits of rows that do not meet the condition. */
void predicate_rows(const struct predicate *p, size_t condition, const struct array *a,
		    uint8_t *keep);

/*
 * May rows of the group meet the condition, by the statistics of the file's column? True
 * if there are none.
 */
bool predicate_may_match(const struct predicate *p, size_t condition,
			 const struct parquet *file, size_t group, size_t column);

/* The same for pages: clears the bits of rows in pages that cannot. */
struct page_index;
void predicate_pages(const struct predicate *p, size_t condition,
		     const struct page_index *index, uint8_t *keep);

CLEANUP(predicate, struct predicate *, predicate_free);
#define cleanup_predicate __attribute__((cleanup(cleanup_predicatep)))

#endif
