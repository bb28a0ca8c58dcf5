/*
 * single.h - the controller of one TrainJob, without threads: who runs its pods calls it in
 * turn (local/run.h).
 *
 * The same passes as the controller's (reconcile.h), over an API of this process, which has
 * answered when a call returns, so that nothing is watched or queued.
 */
#ifndef MANAGER_SINGLE_H
#define MANAGER_SINGLE_H

#include "kube/kube.h"

struct single;

struct single_conf {
	struct kube *kube;     /* the API's, with the namespace, runtime and TrainJob */
	const char *ns, *name; /* copied, as the others */
	/* Of the status server, and its CA (PEM); NULL: none. */
	const char *status_server_url, *status_server_ca;
	/* An event (core/v1) about the TrainJob, as it is now: event.h. */
	void (*on_event)(void *ctx, const cJSON *event);
	void *ctx;
};

MUST_CHECK int single_new(struct single **ret, const struct single_conf *conf,
			  struct error *err);
void single_free(struct single *s); /* NULL is fine */

/*
 * One pass, after something has changed. *ret_after_ms: the next one is due then, though
 * nothing changes; 0: none is.
 */
MUST_CHECK int single_pass(struct single *s, int64_t *ret_after_ms, struct error *err);
/* A pod of it has changed; old, now: NULL before it is there, and when it is gone. */
void single_pod(struct single *s, const cJSON *old, const cJSON *now);

#endif
