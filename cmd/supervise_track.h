/*
 * supervise_track.h - runtime supervise --track: the supervisor of rank 0 sends what the
 * job reports to an experiment tracker (registry/track.h).
 */
#ifndef CMD_SUPERVISE_TRACK_H
#define CMD_SUPERVISE_TRACK_H

#include "supervise/run.h"

struct track_opts {
	const char *uri;
	const char *job;   /* NAMESPACE/NAME[/UID]; or NULL */
	const char *image; /* or NULL */
	const char *kept;  /* the run directory; or NULL */
};

/* All must remain. The tracker starts when rank 0 asks for its token. */
MUST_CHECK int supervise_track(struct supervise_tracker *ret,
			       struct report_sink *ret_sink, const struct track_opts *o,
			       int64_t ranks, char *const *command, struct error *err);

#endif
