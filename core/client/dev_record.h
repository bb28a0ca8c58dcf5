/*
 * dev_record.h - record the directory of this machine that was submitted as a job in
 * development: STATE/dev/UID has the text of DEV_FROM_ANNOTATION. Everyone who may write
 * TrainJobs can change the annotation; its files are sent only if the record agrees.
 */
#ifndef CLIENT_DEV_RECORD_H
#define CLIENT_DEV_RECORD_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"

/* Removes records that are older than 90 days. Does nothing without the annotation. */
MUST_CHECK int dev_record_write(const cJSON *job, struct error *err);
/* Has dev_record_write() been called on this machine, with this annotation? */
bool dev_record_agrees(const cJSON *job);

#endif
