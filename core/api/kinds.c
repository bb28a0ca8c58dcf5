/* kinds.c - the table of kinds and their resource names (api/kinds.h). */
#include "api/kinds.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"

#define TRAINER  "trainer.kubeflow.org/v1alpha1"
#define RBAC     "rbac.authorization.k8s.io/v1"
#define WEBHOOKS "admissionregistration.k8s.io/v1"

static const struct kind known[] = {
	{ TRAINER, "TrainJob", "trainjobs", true },
	{ TRAINER, "TrainingRuntime", "trainingruntimes", true },
	{ TRAINER, "ClusterTrainingRuntime", "clustertrainingruntimes", false },
	{ "jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets", true },
	{ "scheduling.x-k8s.io/v1alpha1", "PodGroup", "podgroups", true },
	{ "scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups", true },
	{ "scheduling.k8s.io/v1beta1", "PodGroup", "podgroups", true },
	{ "scheduling.k8s.io/v1beta1", "Workload", "workloads", true },
	{ "v1", "ConfigMap", "configmaps", true },
	{ "v1", "Event", "events", true },
	{ "v1", "LimitRange", "limitranges", true },
	{ "v1", "Namespace", "namespaces", false },
	{ "v1", "Node", "nodes", false },
	{ "v1", "PersistentVolumeClaim", "persistentvolumeclaims", true },
	{ "v1", "Pod", "pods", true },
	{ "v1", "Secret", "secrets", true },
	{ "v1", "Service", "services", true },
	{ "v1", "ServiceAccount", "serviceaccounts", true },
	{ "apps/v1", "Deployment", "deployments", true },
	{ "batch/v1", "Job", "jobs", true },
	{ "coordination.k8s.io/v1", "Lease", "leases", true },
	{ "discovery.k8s.io/v1", "EndpointSlice", "endpointslices", true },
	{ "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderworkersets", true },
	{ "networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", true },
	{ "node.k8s.io/v1", "RuntimeClass", "runtimeclasses", false },
	{ "policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", true },
	{ "resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates", true },
	{ "scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", false },
	{ RBAC, "ClusterRole", "clusterroles", false },
	{ RBAC, "ClusterRoleBinding", "clusterrolebindings", false },
	{ RBAC, "Role", "roles", true },
	{ RBAC, "RoleBinding", "rolebindings", true },
	{ WEBHOOKS, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations",
	  false },
	{ WEBHOOKS, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations",
	  false },
	{ "apiextensions.k8s.io/v1", "CustomResourceDefinition",
	  "customresourcedefinitions", false },
	{ "authentication.k8s.io/v1", "TokenReview", "tokenreviews", false },
	{ "authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews", false },
	{ "authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews",
	  false },
	{ "authorization.k8s.io/v1", "SelfSubjectAccessReview",
	  "selfsubjectaccessreviews", false },
};

const struct kind *kind_find(const char *api_version, const char *kind)
{
	for (size_t i = 0; i < N_ELEMENTS(known); i++)
		if (!strcmp(known[i].kind, kind) &&
		    !strcmp(known[i].api_version, api_version))
			return &known[i];
	return NULL;
}
