/*
 * manifests.h - the objects that `install` applies, in the order of application: CRDs,
 * namespace, rights, settings, webhooks, pods, runtimes.
 *
 * Names, ports and selectors are those of upstream's manifests/overlays/manager and
 * runtimes, so that upstream's objects are replaced in place.
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
	/*
	 * A Job that applies the runtimes, in place of them: "kubectl apply" looks up the
	 * kinds of all objects before it applies the first, a CRD.
	 */
	INSTALL_RUNTIMES_JOB = 1 << 3,
};

#define CACHE_ACCOUNT "kubeflow-trainer-cache-initializer"

/* NULL and 0: the manifests' value. */
struct manifests_opts {
	enum install_parts parts;
	const char *ns, *image;
	/* Replaces the registry of all images but `image`: "registry.example/mirror". */
	const char *registry;
	const char *gates; /* --feature-gates of the controller */
	const char *pull_policy;
	int64_t replicas;
	bool upstream_images; /* of initializers: upstream's instead of ours */
	bool strict;          /* add an admission policy for the controller's writes */
	/* "NAME" or "NAME=IMAGE"; none: all but those with further requirements. */
	struct opt_strs runtimes;
	struct opt_strs runtime_labels; /* "KEY=VALUE", set in all runtimes */
	const char *cache_image;        /* of torch-distributed-with-cache's caches */
	/*
	 * Namespaces where CACHE_ACCOUNT may create torch-distributed-with-cache's
	 * caches.
	 */
	struct opt_strs cache_namespaces;
	bool cache_token_review; /* allow these caches to create TokenReviews */
};

/* *ret: an array, owned by the caller. ERR_USAGE: an unknown runtime, an invalid label. */
MUST_CHECK int manifests_build(cJSON **ret, const struct schema *schema,
			       const struct manifests_opts *opts, struct error *err);

/*
 * An image, "pytorch/pytorch:2" or "ghcr.io/a/b@sha256:...", with this registry in place
 * of its own; in the arena.
 */
char *manifests_image(struct arena *arena, const char *image, const char *registry);

/* The pod selector of a Deployment, which is immutable. */
const cJSON *manifests_pod_selector(const cJSON *deployment);
/* Are all pods that are wanted available, in the current generation? */
bool manifests_deployment_done(const cJSON *deployment);
bool manifests_crd_established(const cJSON *crd);

#endif
