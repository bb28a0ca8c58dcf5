/* flux_scripts.h - the two shell scripts of the Flux policy. */
#ifndef PLUGINS_FLUX_SCRIPTS_H
#define PLUGINS_FLUX_SCRIPTS_H

#include "base/buf.h"

/* The parameters of the scripts. */
struct flux_facts {
	const char *device;       /* brokers listen there: "eth0" */
	const char *queue_policy; /* "fcfs" */
	const char *domain;       /* the domain of the pods' names */
	const char *hosts;        /* all brokers: "job-node-0-[0-3]" */
	const char *lead;         /* runs the command: "job-node-0-0" */
	const char *flags;        /* for `flux run`: "-N 4 -n 8" */
	const char *resources;    /* for `flux R encode`: "--cores=0-1" */
};

/* Appends the init container's script: write the configuration, copy Flux. */
void flux_init_script(struct buf *out, const struct flux_facts *f);

/* Appends the main container's script: start the broker, on the lead also "$@". */
void flux_entrypoint_script(struct buf *out, const struct flux_facts *f);

#endif
