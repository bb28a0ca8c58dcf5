/*
 * initialize_cache.h - initialize-dataset of cache://SCHEMA/TABLE: create the data cache.
 */
#ifndef CMD_INITIALIZE_CACHE_H
#define CMD_INITIALIZE_CACHE_H

#include "base/error.h"

/* Uses the cluster of this pod, or of the kubeconfig. Returns the exit code, or -1. */
MUST_CHECK int initialize_cache(const char *uri, struct error *err);

#endif
