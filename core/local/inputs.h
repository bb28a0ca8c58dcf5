/*
 * inputs.h - collect from an API the objects of a run: local_run_opts.objects.
 */
#ifndef LOCAL_INPUTS_H
#define LOCAL_INPUTS_H

#include "apiserver/apiserver.h"

/*
 * The JobSet without status, the ConfigMaps and Secrets that it names, and the Services
 * of its TrainJob: a JSON array, owned by the caller.
 */
cJSON *inputs_of(struct apiserver *api, const cJSON *jobset, const cJSON *trainjob);

#endif
