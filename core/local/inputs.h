/*
 * inputs.h - out of an API, the objects that a run is made of: local_run_opts.objects.
 */
#ifndef LOCAL_INPUTS_H
#define LOCAL_INPUTS_H

#include "apiserver/apiserver.h"

/*
 * The JobSet without status, the ConfigMaps and Secrets that it names, and the Services of
 * its TrainJob: an array, the caller's.
 */
cJSON *inputs_of(struct apiserver *api, const cJSON *jobset, const cJSON *trainjob);

#endif
