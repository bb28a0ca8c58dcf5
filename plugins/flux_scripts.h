/* flux_scripts.h - the two shell scripts of the Flux policy. */
#ifndef PLUGINS_FLUX_SCRIPTS_H
#define PLUGINS_FLUX_SCRIPTS_H

#include "base/buf.h"

/* The parameters of the scripts. */
struct flux_facts {
	const char *device;       /* "eth0": where brokers listen */
	const char *queue_policy; /* "fcfs" */
	const char *domain;       /* of the pods' full names */
	const char *hosts;        /* "job-node-0-[0-3]": all brokers */
	const char *lead;         /* "job-node-0-0": the one that runs the command */
	const char *flags;        /* of `flux run`: "-N 4 -n 8" */
	const char *resources;    /* of `flux R encode`: "--cores=0-1" */
};

/* The installer's script: write the configuration, copy Flux. */
void flux_init_script(struct buf *out, const struct flux_facts *f);

/* The main container's script: start the broker, and on the lead the command ("$@"). */
void flux_entrypoint_script(struct buf *out, const struct flux_facts *f);

#endif
