/*
 * origin.h - the YAML of a TrainJob, in which the lines have a comment that its author need
 * not have written: defaults of the schema, what the API server and the controller set,
 * and what its runtime gives to spec.trainer, which is added.
 */
#ifndef UI_ORIGIN_H
#define UI_ORIGIN_H

#include "base/buf.h"
#include "base/json.h"

/* Appends the YAML as text of HTML. runtime NULL: it cannot be read, and adds nothing. */
void origin_yaml(struct buf *out, const cJSON *tj, const cJSON *runtime);

#endif
