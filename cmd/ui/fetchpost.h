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

/* Starts the thread. NULL: the variables are not set, or the setup failed (reported). */
struct fetchpost *fetchpost_start(const char *(*env)(void *ctx, const char *name));
/* Sets the values of the next post; < 0: unknown. NULL is fine. */
void fetchpost_tick(struct fetchpost *p, int percent, int64_t seconds_left);
/* Ends the thread, posts that percentage last (< 0: no post), frees. NULL is fine. */
void fetchpost_stop(struct fetchpost *p, int percent);

#endif
