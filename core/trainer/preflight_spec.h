/*
 * preflight_spec.h - the annotation of a TrainJob whose nodes are checked before it starts.
 *
 * On the TrainJob, else on the runtime's template (plugins/preflight.c).
 */
#ifndef TRAINER_PREFLIGHT_SPEC_H
#define TRAINER_PREFLIGHT_SPEC_H

#include "base/error.h"
#include "base/json.h"

#define PREFLIGHT_ANNOTATION "kftrainer.io/preflight" /* "warn", "enforce", "off" */
#define PREFLIGHT_CONTAINER  "preflight"

enum preflight_mode { PREFLIGHT_OFF, PREFLIGHT_WARN, PREFLIGHT_ENFORCE };

/* ERR_INVALID: another value. */
MUST_CHECK int preflight_mode_of(enum preflight_mode *ret, const cJSON *tj,
				 const cJSON *template_annotations, struct error *err);

#endif
