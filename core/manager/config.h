/*
 * config.h - the controller's settings: config.trainer.kubeflow.org/v1alpha1.
 *
 * Fields, defaults and rules follow upstream's pkg/apis/config/v1alpha1 and
 * pkg/config, so that its ConfigMap kubeflow-trainer-config works unchanged. Unknown
 * fields, kinds and versions are errors; all errors of a file are reported together, as
 * "<file>:<line>:<column>: <field>: ...".
 */
#ifndef MANAGER_CONFIG_H
#define MANAGER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "net/inside.h"

enum { MANAGER_MAX_WORKERS = 256 };

/* Durations are in ms. */
struct manager_config {
	struct arena arena; /* owns the strings that manager_config_load() sets */
	struct {
		int64_t port;     /* 9443 */
		const char *host; /* "" */
	} webhook;
	struct {
		const char *bind; /* ":8443"; "0": none */
		bool secure;      /* true */
		bool auth;        /* false: TokenReview and SubjectAccessReview */
	} metrics;
	struct {
		const char *bind;                 /* ":8081"; "0": none */
		const char *readiness, *liveness; /* "readyz", "healthz": the URL paths */
	} health;
	struct {
		bool enabled;          /* false without leaderElection in the file */
		const char *name, *ns; /* "trainer.kubeflow.org"; "": the pod's own */
		int64_t lease_ms, renew_ms, retry_ms; /* 9 s, 7 s, 2 s */
	} election;
	/*
	 * controller.groupKindConcurrency of "<Kind>.trainer.kubeflow.org": 5, 1, 1;
	 * at most MANAGER_MAX_WORKERS.
	 */
	int64_t trainjob_workers, runtime_workers, cluster_runtime_workers;
	struct {
		bool enable; /* true */
		const char *service,
			*secret; /* kubeflow-trainer-controller-manager, -webhook-cert */
	} certs;
	struct {
		double qps;    /* 50; with 100, and 0: no limit */
		int64_t burst; /* 100 */
	} client;
	struct {
		int64_t port;  /* 10443 */
		double qps;    /* 5 */
		int64_t burst; /* 10 */
	} status_server;
	struct {
		const char *min_version; /* "1.0" to "1.3"; anything else: default */
		const char *const *ciphers, *const *alpn; /* end with NULL; or NULL */
	} tls;
	const char *image; /* this program's, from --image; NULL: read from this pod */
	const char *webhook_client_ca; /* a file, from --webhook-client-ca; or NULL */
	bool gate_trainjob_status; /* featureGates.TrainJobStatus, or --feature-gates */
	bool gate_resource_claims; /* featureGates.DynamicResourceAllocation */
	bool gate_scheduling;      /* featureGates.TrainJobWorkloadAwareScheduling */
	bool old_gate;             /* given by its older name, GATE_OLD_CLAIMS */
	/*
	 * controller --local, in the process of a machine's own API: no listeners,
	 * certificates, lease or tokens; the API calls the webhooks directly.
	 */
	bool local;
	const struct inside_server *inside; /* the machine's API, without a socket */
	const char *local_url,
		*local_ca; /* its URL and CA (PEM), with local and TrainJobStatus */
	bool strict;       /* reconciler_conf.strict, from KFTRAINER_STRICT */
};

/*
 * `file` NULL: the defaults alone. `gates`: "TrainJobStatus=true,...", or NULL; it
 * overrides the file, and an error in it is ERR_USAGE. ERR_INVALID: err has the first
 * line, *ret_errors (NULL-terminated, in ret's arena) all lines, or NULL if there is only
 * one. Release *ret in every case, also after a failure.
 */
MUST_CHECK int manager_config_load(struct manager_config *ret, const char *file,
				   const char *gates, char ***ret_errors,
				   struct error *err);
/* The limit of requests per second to apply, from clientConnection; 0: no limit. */
double manager_config_qps(const struct manager_config *c);
void manager_config_release(struct manager_config *c);

#endif
