/*
 * single.h - the controller of one TrainJob, single-threaded: the caller that runs the
 * pods also calls the passes (local/run.h).
 *
 * The passes are those of reconcile.h. The API is in this process: an object is up to
 * date as soon as a call returns, so that nothing is watched or queued.
 */
#ifndef MANAGER_SINGLE_H
#define MANAGER_SINGLE_H

#include "kube/kube.h"

struct single;

struct single_conf {
	struct kube *kube;     /* has the namespace, runtime and TrainJob; borrowed */
	const char *ns, *name; /* the TrainJob; all strings are copied */
	/* The URL of the status server and its CA (PEM); NULL: no status server. */
	const char *status_server_url, *status_server_ca;
	/* Called from single_pass() and single_pod() with each event, new or repeated. */
	void (*on_event)(void *ctx, const cJSON *event);
	void *ctx;
};

MUST_CHECK int single_new(struct single **ret, const struct single_conf *conf,
			  struct error *err);
void single_free(struct single *s); /* NULL is fine */

/*
 * Runs one pass; call it after each change. *ret_after_ms: also call it after that time;
 * 0: not until the next change. Errors as reconcile_trainjob().
 */
MUST_CHECK int single_pass(struct single *s, int64_t *ret_after_ms, struct error *err);
/* Call for each change of a pod: `old` NULL: it is new; `now` NULL: it is deleted. */
void single_pod(struct single *s, const cJSON *old, const cJSON *now);

#endif
