/*
 * install_remove.h - delete from a cluster what install_apply() puts there, and upstream's
 * objects of the same names; never what Helm or another project manages, a runtime of the
 * user's own, or a Namespace.
 */
#ifndef CLIENT_INSTALL_REMOVE_H
#define CLIENT_INSTALL_REMOVE_H

#include "client/manifests.h"
#include "kube/kube.h"
#include "spec/reporter.h"

struct remove_opts {
	bool dry_run; /* report only */
	struct outcomes out;
};

/*
 * `list` as manifests_build() returns it. Webhooks are deleted first; Secrets and Leases,
 * which a controller creates while it has the right to, after those rights; CRDs last.
 * Without CRDs in the list, TrainJobs remain: a warning counts those whose runtime was
 * removed.
 */
MUST_CHECK int install_remove(struct kube *k, const cJSON *list,
			      const struct remove_opts *opts, struct error *err);

/* The cache_namespaces of the last install, found by their accounts; in the arena. */
MUST_CHECK int install_cache_namespaces(struct kube *k, struct arena *arena,
					struct opt_strs *ret, struct error *err);

#endif
