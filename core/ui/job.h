/*
 * job.h - the page of one job, which is read by the code of `why`, `events` and `logs`.
 */
#ifndef UI_JOB_H
#define UI_JOB_H

#include "base/buf.h"
#include "client/logs.h"
#include "kube/kube.h"

/* The last lines of each container, fewer of many: together about JOB_LOG_ALL. */
enum { JOB_LOG_LINES = 200, JOB_LOG_ALL = 4000, JOB_MAX_LINE = 8192 /* bytes shown */ };

struct job_page {
	struct kube *kube;
	const char *ns, *name;
	bool read_only;              /* no links of act.h */
	const struct error *no_logs; /* why its logs cannot be read; kind 0: they can */
};
MUST_CHECK int job_page(struct buf *out, const struct job_page *page, struct error *err);
/*
 * The parts of it that change, as JSON: {"why":TEXT,"tables":{"pods":[[CELL,...],...],
 * "events":...}}. *ret_ended: the job has finished.
 */
MUST_CHECK int job_state(struct buf *out, struct kube *k, const char *ns,
			 const char *name, bool *ret_ended, struct error *err);
/* All lines so far; a job without a container that has started has none. */
MUST_CHECK int job_logs(struct kube *k, const char *ns, const char *name,
			const struct logs_out *to, struct error *err);

#endif
