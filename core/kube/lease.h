/*
 * lease.h - who of several replicas leads (client-go's tools/leaderelection with a
 * coordination.k8s.io/v1 Lease).
 *
 * Times are compared by when this process saw the record change, on its own
 * monotonic clock, so that clocks may differ and jump. The lease is given up on
 * stop, so that the next one need not wait for it to run out.
 */
#ifndef KUBE_LEASE_H
#define KUBE_LEASE_H

#include "kube/kube.h"

/*
 * kube: a client of its own, without a limit of calls, with a timeout of at most
 * renew_ms / 2, and after_stop.
 */
struct lease_conf {
	struct kube *kube;
	const char *ns, *name, *identity;        /* identity: "<host>_<uuid>" */
	int64_t duration_ms, renew_ms, retry_ms; /* 9 s, 7 s, 2 s */
	/* In whichever thread notices; both may be NULL. */
	void (*on_change)(void *ctx, const char *holder);     /* a new one, perhaps we */
	void (*on_error)(void *ctx, const struct error *err); /* each failed try */
	void *ctx;
};

struct lease;

/* lease_conf's rules: duration > renew > retry x 1.2. */
MUST_CHECK int lease_new(struct lease **ret, const struct lease_conf *conf,
			 struct error *err);
/*
 * Waits until we lead, looking each retry_ms, and when the time of whoever has it is over.
 * ERR_STOPPED. Then a thread renews it.
 */
MUST_CHECK int lease_acquire(struct lease *l, struct error *err);
bool lease_held(struct lease *l);
/*
 * Readable for good when the lease is lost, be it that a call hangs: the process must
 * end its work at once. Poll it; never read it.
 */
int lease_lost_fd(struct lease *l);
void lease_free(struct lease *l); /* gives it up if it is ours */

#endif
