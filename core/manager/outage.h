/*
 * outage.h - the API server does not answer: what dozens of threads and each TrainJob
 * meet at once is one line in the log, and one a minute as long as it lasts.
 */
#ifndef MANAGER_OUTAGE_H
#define MANAGER_OUTAGE_H

#include <stdbool.h>

#include "base/error.h"

/* True: the error says just that, and has been logged, now or less than a minute ago. */
bool outage_logged(const struct error *err);

#endif
