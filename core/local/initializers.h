/*
 * initializers.h - run initializer containers with this program: local runs pull no
 * images. Upstream's initializers are recognized by the image's name, ours by the first
 * argument.
 */
#ifndef LOCAL_INITIALIZERS_H
#define LOCAL_INITIALIZERS_H

#include "base/json.h"

/*
 * Each container of the JobSet among `objects` that is an initializer without a command
 * runs this program's "initialize-dataset" or "initialize-model"; one with the arguments
 * "cache-serve ..." or "export-model ..." runs that. ERR_UNSUPPORTED: an initializer
 * that would make a data cache in a cluster.
 */
MUST_CHECK int initializers_map(cJSON *objects, struct error *err);

#endif
