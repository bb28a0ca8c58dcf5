/*
 * machine.h - the jobs of this machine as an API, for commands that work without a
 * cluster: the returned `struct kube` is used like a cluster's.
 *
 * A TrainJob is the newest run of its name (state.h), with the JobSet, Jobs, pods and
 * events that the run published (state_owned.h). Runtimes are the built-in ones, and
 * those that jobs read from files. Objects are read from the run directories when a
 * request asks for their kind, and every 100 ms while the kind is watched, so the jobs of
 * all terminals are visible. Nothing is stored. Writes: spec.suspend of a TrainJob
 * (state_suspend()) and its deletion, which deletes the run; all others are a 422.
 */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include "kube/kube.h"

/* An unreadable directory fails the request: ERR_BUSY with code 500. */
MUST_CHECK int machine_connect(struct kube **ret, const struct kube_opts *opts,
			       struct error *err);

#endif
