/*
 * plugins.h - the plugins of this program.
 *
 * The order of the rows is the order within every phase:
 *
 * - torchtune follows torch, which sets the number of processes.
 * - Objects are in this order, too: ConfigMaps and Secrets, to which pods refer, then
 *   the PodGroup, and the JobSet last.
 */
#ifndef PLUGINS_PLUGINS_H
#define PLUGINS_PLUGINS_H

#include "trainer/plugin.h"

#define PLUGINS(X)                                                                     \
	X(plainml), X(torch), X(torchtune), X(jax), X(xgboost), X(tensorflow),         \
		X(paddle), X(trainjobstatus), X(mpi), X(flux), X(cache), X(supervise), \
		X(volcano), X(coscheduling), X(workload), X(kai), X(yunikorn),         \
		X(workspace), X(preflight), X(jobset)

extern const struct plugin *const plugins[]; /* ends with NULL */

#define PLUGIN(name) plugin_##name
extern const struct plugin PLUGINS(PLUGIN);

#endif
