/*
 * manifests.h - what a cluster gets of us, as documents, in the order in which it
 * can be applied: CRDs, namespace, rights, settings, webhooks, pods, runtimes.
 *
 * Names, ports and selectors are those of upstream's manifests/overlays/manager and
 * runtimes, so that what is there is replaced in place.
 */
#ifndef CLIENT_MANIFESTS_H
#define CLIENT_MANIFESTS_H

#include "api/schema.h"
#include "base/json.h"
#include "base/opt.h"

#define INSTALL_NAMESPACE  "kubeflow-system"
#define INSTALL_IMAGE      "kftrainer:" VERSION
#define INSTALL_DEPLOYMENT "kubeflow-trainer-controller-manager"
#define INSTALL_CONFIG     "kubeflow-trainer-config"
#define INSTALL_MANAGED_BY "app.kubernetes.io/managed-by"
#define INSTALL_PART_OF    "app.kubernetes.io/part-of"
#define HELM_RELEASE       "meta.helm.sh/release-name"
#define CRD_KIND           "CustomResourceDefinition"

enum install_parts {
	INSTALL_CRDS = 1 << 0,
	INSTALL_CONTROLLER = 1 << 1,
	INSTALL_RUNTIMES = 1 << 2,
	INSTALL_ALL = INSTALL_CRDS | INSTALL_CONTROLLER | INSTALL_RUNTIMES,
};

#define CACHE_ACCOUNT "kubeflow-trainer-cache-initializer"

/* NULL and 0: as the manifests have it. */
struct manifests_opts {
	enum install_parts parts;
	const char *ns, *image;
	const char *
		registry; /* in place of every other image's: "registry.example/mirror" */
	const char *gates; /* --feature-gates of the controller */
	const char *pull_policy;
	int64_t replicas;
	bool upstream_images; /* of initializers: theirs, not ours */
	bool strict;          /* a policy of what the controller may write */
	struct opt_strs
		runtimes; /* names; none: all but those that need more than this */
	/* Where torch-distributed-with-cache may make data caches: CACHE_ACCOUNT is in each. */
	struct opt_strs cache_namespaces;
	bool cache_token_review; /* the caches there may have tokens reviewed */
};

/* *ret: an array, the caller's. ERR_USAGE for a runtime that there is not. */
MUST_CHECK int manifests_build(cJSON **ret, const struct schema *schema,
			       const struct manifests_opts *opts, struct error *err);

/* "pytorch/pytorch:2", "ghcr.io/a/b@sha256:..." with that registry in place of its own. */
char *image_with_registry(struct arena *arena, const char *image, const char *registry);

/* Of a Deployment: two with different selectors cannot follow one another in place. */
const cJSON *deployment_selector(const cJSON *deployment);
/* Have as many pods of this very generation become available as are wanted? */
bool deployment_done(const cJSON *deployment);
bool crd_established(const cJSON *crd);

#endif
