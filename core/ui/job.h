/*
 * job.h - the page of one job, which is read by the code of `why`, `events` and `logs`.
 */
#ifndef UI_JOB_H
#define UI_JOB_H

#include "base/buf.h"
#include "kube/kube.h"

/* The last lines of each container, fewer of many: together about JOB_LOG_ALL. */
enum { JOB_LOG_LINES = 200, JOB_LOG_ALL = 4000 };

MUST_CHECK int job_page(struct buf *out, struct kube *k, const char *ns, const char *name,
			struct error *err);

#endif
