/*
 * machine.h - the jobs of this machine as an API: what `struct kube` calls where there is no
 * cluster.
 *
 * A TrainJob is the newest run of its name (state.h), with the JobSet, Jobs, pods and events
 * that it has published (state_owned.h); the runtimes are the built-in ones and those of
 * files that these jobs were made of. They are read from the run directories when a request
 * asks for their kind, and again every 100 ms while it is watched, so that the jobs of all
 * terminals are seen. Nothing is kept. Of a TrainJob spec.suspend can be changed
 * (state_suspend()), and it can be deleted with its run; all other writes are a 422.
 */
#ifndef LOCAL_MACHINE_H
#define LOCAL_MACHINE_H

#include "kube/kube.h"

/* A directory that cannot be read is an error of the request, ERR_BUSY with code 500. */
MUST_CHECK int machine_connect(struct kube **ret, const struct kube_opts *opts,
			       struct error *err);

#endif
