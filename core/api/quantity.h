/*
 * quantity.h - resource quantities, exactly.
 *
 * Follows k8s.io/apimachinery/pkg/api/resource (Quantity): decimal SI (n u m "" k M G T P
 * E), binary SI (Ki Mi Gi Ti Pi Ei), decimal exponent (e3, E3). Values are stored exactly
 * in nano units as a 128-bit integer. Finer values are rounded away from zero. BinarySI
 * is capped at 2^63-1 as upstream's; the other formats at 10^28 units, where upstream has
 * no limit. The canonical form is upstream's: no fractional digits, the largest suffix
 * without loss, the format of the first operand of a sum. Two defects of upstream are
 * fixed: 1000E is not printed as 1, and a text without a digit ("Ki", ".") is refused.
 */
#ifndef API_QUANTITY_H
#define API_QUANTITY_H

#include "base/json.h"

enum quantity_format {
	QUANTITY_DECIMAL_SI,
	QUANTITY_BINARY_SI,
	QUANTITY_DECIMAL_EXPONENT
};

struct quantity {
	__int128 nano; /* 1e-9 of a unit */
	enum quantity_format format;
};

/* Errors: ERR_INVALID. */
MUST_CHECK int quantity_parse(struct quantity *ret, const char *text, struct error *err);

/* From a document's node: a string, or a number as Kubernetes accepts it. */
MUST_CHECK int quantity_of(struct quantity *ret, const cJSON *node, struct error *err);

/* Add q to `to`; a zero `to` gets q's format. */
void quantity_add(struct quantity *to, const struct quantity *q);
void quantity_mul(struct quantity *q, int64_t factor);
int quantity_cmp(const struct quantity *a, const struct quantity *b); /* <0, 0, >0 */
int64_t quantity_ceil(const struct quantity *q);  /* whole units, rounded up: Value() */
int64_t quantity_milli(const struct quantity *q); /* rounded up: MilliValue() */

enum { QUANTITY_TEXT_SIZE = 64 };
/* Canonical text; returns buf. */
const char *quantity_text(const struct quantity *q, char buf[QUANTITY_TEXT_SIZE]);

/*
 * The text that Kubernetes' typed clients send for the node that q was read from: the
 * node's own if their parser accepts it as canonical ("1.125", "+1", "1E3"), else
 * quantity_text() in buf.
 */
const char *quantity_client_text(const struct quantity *q, const cJSON *node,
				 char buf[QUANTITY_TEXT_SIZE]);

#endif
