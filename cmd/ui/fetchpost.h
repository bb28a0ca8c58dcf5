/*
 * fetchpost.h - progress of a download for the TrainJob's status (KEP-2779).
 *
 * If KUBEFLOW_TRAINER_SERVER_URL, _CA_CERT and _TOKEN are set, as the controller does, a
 * thread posts it to the status server every few seconds. A failure never fails the
 * download; only the first one is reported.
 */
#ifndef CMD_FETCHPOST_H
#define CMD_FETCHPOST_H

#include <stdint.h>

struct fetchpost;

/* NULL: the variables are not set. */
struct fetchpost *fetchpost_start(const char *(*env)(void *ctx, const char *name));
void fetchpost_tick(struct fetchpost *p, int percent, int64_t seconds_left);
/* A last post with that percentage; < 0: none. Frees; NULL is fine. */
void fetchpost_stop(struct fetchpost *p, int percent);

#endif
