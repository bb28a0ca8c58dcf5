/*
 * track_impl.h - a kind of experiment tracker.
 */
#ifndef REGISTRY_TRACK_IMPL_H
#define REGISTRY_TRACK_IMPL_H

#include "registry/registry_impl.h"
#include "registry/track.h"

struct track_run {
	char id[TRACK_ID_SIZE];
	int64_t step; /* the first that none of its points has */
};

/* Calls have an arena of their own, and may be repeated after any failure. */
struct track_kind {
	/* A metric's name as the tracker accepts it; the caller's. */
	char *(*name)(const char *name);
	int (*open)(struct registry *r, const struct track_conf *conf,
		    const char *experiment, struct track_run *ret, struct error *err);
	/*
	 * ERR_NOT_FOUND: somebody has deleted the run; ERR_INVALID: it never accepts these
	 * points. Others may pass.
	 */
	int (*send)(struct registry *r, const struct track_run *run,
		    const struct track_point *points, size_t n, struct error *err);
	int (*end)(struct registry *r, const struct track_run *run,
		   enum track_outcome outcome, struct error *err);
};

#endif
