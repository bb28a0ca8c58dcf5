/*
 * logs.h - `kftrainer logs` of jobs of this machine; those of a cluster are client/logs.h.
 */
#ifndef CMD_LOGS_H
#define CMD_LOGS_H

#include "client/logs.h"

/* Prints. Of `want` what a local job has. Returns the exit code, or -1. */
int logs_local(const struct logs_want *want, struct error *err);

#endif
