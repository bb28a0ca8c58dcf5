/*
 * jsonpatch.h - apply JSON Patch (RFC 6902) as an API server does.
 *
 * Where the RFC is ambiguous it follows gopkg.in/evanphx/json-patch.v4: the target of
 * "remove" and "replace" must exist, "-1" is not an index.
 */
#ifndef API_JSONPATCH_H
#define API_JSONPATCH_H

#include "base/json.h"

enum { JSONPATCH_MAX_STEPS = 10000 };

/*
 * ERR_FORMAT: not an array of operations; ERR_INVALID: an operation that cannot be done,
 * or a failed test.
 */
MUST_CHECK int jsonpatch_apply(cJSON **doc, const cJSON *patch, struct error *err);

/* The JSON Patch that makes `after` of `before`; lists of other lengths as a whole. */
cJSON *jsonpatch_diff(const cJSON *before, const cJSON *after);

#endif
