/*
 * outage.h - an unreachable API server is one line in the log, and one a minute while it
 * lasts, however many threads and TrainJobs meet it.
 */
#ifndef MANAGER_OUTAGE_H
#define MANAGER_OUTAGE_H

#include <stdbool.h>

#include "base/error.h"

/* True: the error is such an outage, and has been logged within the last minute. */
bool outage_logged(const struct error *err);

#endif
