/*
 * alone.h - learn that a job's processes each train alone (logtext/alone.h): from its
 * output, or from the event that the controller records when several pods report progress.
 */
#ifndef CLIENT_ALONE_H
#define CLIENT_ALONE_H

#include "kube/kube.h"
#include "logtext/alone.h"

/* `{ 0 }`: nothing is known yet. For one job, and one thread. */
struct alone_watch {
	struct alone alone; /* alone_line() reads the output */
	int64_t due_ms;     /* events are read at most every few seconds */
};

/*
 * The TrainJob, which kube_get() or a watch returned, has changed. True, once: alone.text
 * is new. Reads events only of a job that reports progress or has ended. Events that cannot
 * be read count as none.
 */
bool alone_watch_job(struct alone_watch *w, struct kube *k, const cJSON *tj);

#endif
