/*
 * local_status.h - the status server (manager/progress_server.h) to which the pods of
 * `submit --local` report progress, on a loopback port, with a CA for this run only.
 */
#ifndef MACHINE_LOCAL_STATUS_H
#define MACHINE_LOCAL_STATUS_H

#include "kube/kube.h"
#include "manager/progress_server.h"

struct local_status;

/* Writes reports to `kube`, which must outlive it, from threads of its own. */
MUST_CHECK int local_status_start(struct local_status **ret, struct kube *kube,
				  struct error *err);
void local_status_stop(struct local_status *s); /* NULL is fine */

const char *local_status_url(const struct local_status *s);
const char *local_status_ca(const struct local_status *s);
/* Becomes readable after a report, until local_status_clear(). */
int local_status_fd(const struct local_status *s);
void local_status_clear(const struct local_status *s);

/* As progress_server_watch(). */
void local_status_watch(const struct local_status *s, const struct progress_watch *watch);

#endif
