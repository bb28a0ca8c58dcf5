/*
 * track_spec.h - the annotations of a TrainJob that is tracked.
 *
 * On the TrainJob, else on the runtime's template: its first supervisor sends the metrics
 * that it reports to an experiment tracker (plugins/supervise.c, registry/track.h).
 */
#ifndef TRAINER_TRACK_SPEC_H
#define TRAINER_TRACK_SPEC_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

/* mlflow+https://HOST[:PORT][/PREFIX]/EXPERIMENT, percent-encoded; without credentials */
#define TRACK_ANNOTATION        "kftrainer.io/track"
#define TRACK_SECRET_ANNOTATION "kftrainer.io/track-secret" /* a Secret of variables */

struct track_spec {
	const char *uri;                 /* NULL: the job is not tracked */
	const char *secret;              /* or NULL */
	const char *server, *experiment; /* for the tracker's own client */
};

/* In the arena, or the documents'. ERR_INVALID: the message has nothing of the URI. */
MUST_CHECK int track_spec_of(struct track_spec *ret, struct arena *arena, const cJSON *tj,
			     const cJSON *template_annotations, struct error *err);

#endif
