/*
 * local_status.h - where the pods of `submit --local` report progress: the controller's
 * status server (manager/progress_server.h) on a port of the loopback interface, with a CA
 * that lasts as long as the run.
 */
#ifndef CMD_LOCAL_STATUS_H
#define CMD_LOCAL_STATUS_H

#include "kube/kube.h"

struct local_status;

/* kube: the API that reports are written to, from threads of its own; it stays. */
MUST_CHECK int local_status_start(struct local_status **ret, struct kube *kube,
				  struct error *err);
void local_status_stop(struct local_status *s); /* NULL is fine */

const char *local_status_url(const struct local_status *s);
const char *local_status_ca(const struct local_status *s);
/* Readable after a report, until local_status_heard(). */
int local_status_fd(const struct local_status *s);
void local_status_heard(const struct local_status *s);

#endif
