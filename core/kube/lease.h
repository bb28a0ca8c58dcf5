/*
 * lease.h - who of several replicas leads (client-go's tools/leaderelection with a
 * coordination.k8s.io/v1 Lease).
 *
 * Correct whatever the clocks of the replicas say: times count from when this process saw
 * the record change, on its monotonic clock. A stopping leader releases the lease, and the
 * next one takes over at once.
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
 * Waits until we lead, trying every retry_ms and when the holder's time is over; then a
 * thread renews the lease. ERR_STOPPED.
 */
MUST_CHECK int lease_acquire(struct lease *l, struct error *err);
bool lease_held(struct lease *l);
/*
 * Readable for good once the lease is lost, even while a call hangs: the process must
 * stop its work at once. Poll it; never read it.
 */
int lease_lost_fd(struct lease *l);
void lease_free(struct lease *l); /* gives it up if it is ours */

#endif
