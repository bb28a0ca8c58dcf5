/*
 * cluster.h - connect a command to its cluster or to this machine: options and
 * connection.
 */
#ifndef CMD_CLUSTER_H
#define CMD_CLUSTER_H

#include "base/cleanup.h"
#include "base/opt.h"
#include "client/changes.h"
#include "kube/kube.h"

struct cluster_opts {
	const char *kubeconfig, *context;
};

#define CLUSTER_OPTIONS(s)                                                     \
	OPT_STR(0, "kubeconfig", "FILE",                                       \
		"kubeconfig file (default: $KUBECONFIG or ~/.kube/config)", s, \
		cluster.kubeconfig),                                           \
		OPT_STR(0, "context", "NAME", "context in the kubeconfig", s,  \
			cluster.context)

/* Without a kubeconfig, in a pod, uses the pod's cluster. Also calls stop_setup(). */
MUST_CHECK int cluster_connect(struct kube **ret, const struct cluster_opts *opts,
			       struct error *err);

/*
 * The same for commands about jobs, which may be local (submit --local). They use this
 * machine with --local, or if there is neither a kubeconfig with clusters (of an option,
 * $KUBECONFIG or ~/.kube/config) nor a pod's service account; otherwise the cluster.
 */
struct where_opts {
	struct cluster_opts cluster;
	const char *ns;
	bool local;
	const char *from; /* " --from URI" of a command, which is local; or NULL */
};

#define WHERE_OPTIONS_AS(s, ns_help, local_help)                                       \
	OPT_STR('n', "namespace", "NAMESPACE", ns_help, s, where.ns),                  \
		OPT_BOOL(0, "local", local_help, s, where.local),                      \
		OPT_STR(0, "kubeconfig", "FILE",                                       \
			"kubeconfig file (default: $KUBECONFIG or ~/.kube/config)", s, \
			where.cluster.kubeconfig),                                     \
		OPT_STR(0, "context", "NAME", "context in the kubeconfig", s,          \
			where.cluster.context)
#define WHERE_OPTIONS(s)                                                          \
	WHERE_OPTIONS_AS(s, "namespace (default: the context's, or \"default\")", \
			 "use local jobs (submit --local)")

/*
 * Connect to the cluster, or to this machine's API (machine/machine.h; kube_is_inside()).
 * *ret_ns (in the arena) is the namespace of the option, else the context's, else
 * "default".
 */
MUST_CHECK int where_connect(struct kube **ret, const char **ret_ns, struct arena *arena,
			     const struct where_opts *opts, struct error *err);

/* Report CHANGE_LOST and CHANGE_FOUND on stderr. False: the change is neither. */
bool cluster_report_change(const char *cmd, const struct change *change);

CLEANUP(kube, struct kube *, kube_free);
#define cleanup_kube __attribute__((cleanup(cleanup_kubep)))

#endif
