/* plugins.h - the plugins there are. */
#ifndef PLUGINS_PLUGINS_H
#define PLUGINS_PLUGINS_H

#include "trainer/plugin.h"

extern const struct plugin *const plugins[]; /* ends with NULL */

extern const struct plugin plugin_plainml, plugin_torch, plugin_torchtune, plugin_jax,
	plugin_xgboost, plugin_mpi, plugin_flux, plugin_trainjobstatus,
	plugin_coscheduling, plugin_volcano, plugin_workspace, plugin_jobset;

#endif
