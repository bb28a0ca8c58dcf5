/*
 * initializers.h - images are not pulled on this machine; those of initializers hold this
 * program, upstream's by their names, ours by their first argument.
 */
#ifndef LOCAL_INITIALIZERS_H
#define LOCAL_INITIALIZERS_H

#include "base/json.h"

/*
 * Each container of the JobSet among `objects` that is an initializer without a command
 * runs this program's "initialize-dataset" or "initialize-model"; one with the arguments
 * "cache-serve ..." runs that. ERR_UNSUPPORTED: an initializer that would make a data
 * cache in a cluster.
 */
MUST_CHECK int initializers_map(cJSON *objects, struct error *err);

#endif
