/*
 * jsonpatch.h - JSON Patch (RFC 6902), as an API server takes it.
 *
 * Follows gopkg.in/evanphx/json-patch.v4 where the RFC leaves it open: what a "remove" or
 * "replace" names must exist, "-1" is no index.
 */
#ifndef API_JSONPATCH_H
#define API_JSONPATCH_H

#include "base/json.h"

enum { JSONPATCH_MAX_STEPS = 10000 };

/* Not an array of operations: ERR_FORMAT. One that cannot be done, a test that fails: ERR_INVALID. */
MUST_CHECK int jsonpatch_apply(cJSON **doc, const cJSON *patch, struct error *err);

/* The JSON Patch that makes `after` of `before`; lists of other lengths as a whole. */
cJSON *jsonpatch_diff(const cJSON *before, const cJSON *after);

#endif
