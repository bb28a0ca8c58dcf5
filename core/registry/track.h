/*
 * track.h - send the metrics of a job to an experiment tracker, beside the job.
 *
 *   mlflow+http(s)://HOST[:PORT][/PREFIX]/EXPERIMENT     MLFLOW_* as in registry.h
 *
 * EXPERIMENT is percent-encoded, and made if it does not exist. A thread makes the run,
 * or finds the one that has the same key, and sends what is added. While the server is
 * away, points stay in memory: the oldest TRACK_POINTS.
 */
#ifndef REGISTRY_TRACK_H
#define REGISTRY_TRACK_H

#include <stdint.h>

#include "registry/registry.h"

enum {
	TRACK_POINTS = 200 * 1000,
	TRACK_NAMES = 1000, /* of metrics; points of others are dropped */
	TRACK_ID_SIZE = 64, /* of a run's ID, with its 0 */
};

struct track_conf {
	struct registry_conf registry; /* `say` is called in the thread; no `tries` */
	const char *key;               /* of the run: its tag "kftrainer.job" */
	const char *name;              /* of the run, for people */
	/* Facts about a new run; those of an old one remain. */
	const struct registry_property *tags, *params;
	size_t n_tags, n_params;
	const char *kept; /* where the reports are kept, too, for a message; or NULL */
};

struct track_point {
	const char *name;
	double value;    /* may be NaN or infinite */
	int64_t unix_ms; /* >= 0 */
	int64_t step; /* < 0: the number of its report, which goes on in a later process */
};

enum track_outcome { TRACK_FINISHED, TRACK_FAILED, TRACK_KILLED };

/* ERR_USAGE, ERR_INVALID, ERR_UNSUPPORTED. No message has a user's name or password. */
MUST_CHECK int track_check(const char *uri, struct error *err);

/*
 * Start the thread. *ret is never freed: it ends with the process. What conf points to
 * must remain.
 */
struct track;
MUST_CHECK int track_start(struct track **ret, const struct track_conf *conf,
			   struct error *err);

/*
 * The run's ID. Waits until ms have passed without an answer, six times as long in all,
 * or until stop() (several times a second; or NULL). False: there is none yet.
 */
bool track_run(struct track *t, int64_t ms, bool (*stop)(void), char ret[TRACK_ID_SIZE]);

/* Add the points of a report; names are copied. Does not block. */
void track_add(struct track *t, const struct track_point *points, size_t n);

/* How long the end is waited for. */
struct track_patience {
	int64_t ms;         /* if there is no run, or what is sent is refused */
	int64_t away_ms;    /* if there is one: the server is away, or much is left */
	bool (*stop)(void); /* asked several times a second; or NULL */
};

/* Send the rest and the outcome. False: not all was sent, which is said. */
bool track_end(struct track *t, enum track_outcome outcome,
	       const struct track_patience *patience);

#endif
