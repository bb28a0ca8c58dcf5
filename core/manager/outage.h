/*
 * outage.h - log an unreachable API server once, and then once a minute, however many
 * threads and TrainJobs fail because of it.
 */
#ifndef MANAGER_OUTAGE_H
#define MANAGER_OUTAGE_H

#include <stdbool.h>

#include "base/error.h"

/*
 * True: the error is such an outage, and was logged within the last minute, possibly by
 * this call: the caller need not log it. From any thread.
 */
bool outage_logged(const struct error *err);

#endif
