/*
 * lease.h - leader election among replicas (client-go's tools/leaderelection with a
 * coordination.k8s.io/v1 Lease).
 *
 * At most one replica leads, also with skewed clocks: a lease expires
 * leaseDurationSeconds after this process saw its spec change, on its own CLOCK_BOOTTIME.
 * A leader that stops releases the lease (ReleaseOnCancel), and another replica acquires
 * it at its next try.
 */
#ifndef KUBE_LEASE_H
#define KUBE_LEASE_H

#include "kube/kube.h"

/*
 * kube: a client used for nothing else, without a rate limit, with a timeout_ms of at
 * most renew_ms / 2, and after_stop. It must outlive the lease.
 */
struct lease_conf {
	struct kube *kube;
	const char *ns, *name, *identity; /* copied; identity: "<host>_<uuid>" */
	/* LeaseDuration (9 s), RenewDeadline (7 s), RetryPeriod (2 s). */
	int64_t duration_ms, renew_ms, retry_ms;
	/* Called in lease_acquire(), the renewing thread or lease_free(); may be NULL. */
	void (*on_change)(void *ctx, const char *holder);     /* OnNewLeader */
	void (*on_error)(void *ctx, const struct error *err); /* each failed attempt */
	void *ctx;
};

struct lease;

/* ERR_INVALID unless duration > renew > retry x 1.2 and duration is at least 1 s. */
MUST_CHECK int lease_new(struct lease **ret, const struct lease_conf *conf,
			 struct error *err);
/*
 * Blocks until this replica leads: tries every retry_ms, with jitter, and as soon as the
 * holder's lease expires. A thread then renews the lease every retry_ms. ERR_STOPPED: the
 * process is asked to stop. Failed attempts are reported to on_error and retried.
 */
MUST_CHECK int lease_acquire(struct lease *l, struct error *err);
/* True: this replica leads, and renewed the lease less than renew_ms ago. */
bool lease_held(struct lease *l);
/*
 * OnStoppedLeading: readable from the moment that the lease is lost, also while a renewal
 * hangs; the process must stop its work at once. The lease's: poll it, never read it.
 */
int lease_lost_fd(struct lease *l);
/* Ends the thread and releases the lease, if it is held. NULL is fine. */
void lease_free(struct lease *l);

#endif
