/*
 * jsonpatch.h - apply JSON Patch (RFC 6902) as an API server does.
 *
 * It follows gopkg.in/evanphx/json-patch.v4, also where that accepts more than the RFC:
 * "replace" of a member that does not exist adds it, "copy" of one is null, as is a value
 * that is not given; "-1" is the last element ("add": behind it). Unlike it, a path
 * begins with '/'.
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
