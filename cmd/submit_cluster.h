/*
 * submit_cluster.h - `submit` without --local: TrainJobs, and what stands beside them
 * in their file, to a cluster.
 *
 * Runtimes, ConfigMaps and Secrets are applied server-side (nobody else's fields are
 * taken over), then the TrainJobs are created. Before any of it the API server is asked
 * about all of it (dryRun=All, fieldValidation=Strict), and what it refuses is told at
 * once, each with file, line and column. A TrainJob whose runtime comes with it is
 * asked about again once that is there; what was created is deleted again when
 * something is refused after all.
 */
#ifndef CMD_SUBMIT_CLUSTER_H
#define CMD_SUBMIT_CLUSTER_H

#include "cmd/ui/cluster.h"
#include "cmd/workspace.h"
#include "spec/job.h"

struct cluster_submit {
	struct cluster_opts cluster;
	struct job_opts job;
	const struct workspace_cargo *cargo; /* that goes with each TrainJob; or NULL */
	struct shipment *shipment;           /* whose cargo it is; or NULL */
	bool keep;                           /* a TrainJob whose cargo did not arrive */
	const char *format; /* of what is stored: "yaml", ...; NULL: a line each */
	bool dry_run;       /* nothing is stored */
	bool wait, follow;  /* until the jobs have ended, showing what they do */
	bool quiet;
	int64_t timeout_ms; /* of that wait; 0: none */
};

/* The exit code; -1 with err. */
int cluster_submit(const struct cluster_submit *opts, struct error *err);

#endif
