/* plugins.h - the plugins there are. */
#ifndef PLUGINS_PLUGINS_H
#define PLUGINS_PLUGINS_H

#include "trainer/plugin.h"

extern const struct plugin *const plugins[]; /* ends with NULL */

#endif
