/* resources.c - the table of kinds, and their schemas (apiserver/resources.h). */
#include "apiserver/resources.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "assets/assets.h"
#include "base/str.h"

#define TRAINER      "trainer.kubeflow.org/v1alpha1"
#define WORDS(...)   ((const char *const[]){ __VA_ARGS__, NULL })

#define NAME_TEXT    "Name of the object"
#define CREATED_TEXT "Time since it was created"
#define NAME                                                             \
	{                                                                \
		"Name", "string", "name", NAME_TEXT, 0, ".metadata.name" \
	}
#define CREATED                                                                   \
	{                                                                         \
		"Age", "date", "", CREATED_TEXT, 0, ".metadata.creationTimestamp" \
	}
#define AGE                                                 \
	{                                                   \
		"Age", "string", "", CREATED_TEXT, 0, "age" \
	}

static const struct column trainjob_columns[] = {
	NAME,
	{ "State", "string", "", "", 0, ".status.state" },
	{ "Age", "date", "", "", 0, ".metadata.creationTimestamp" },
	{ .name = NULL },
};
static const struct column custom_columns[] = { NAME, CREATED, { .name = NULL } };
static const struct column jobset_columns[] = {
	NAME,
	{ "TerminalState", "string", "", "Final state of JobSet", 0,
	  ".status.terminalState" },
	{ "Restarts", "string", "", "Number of restarts", 0, ".status.restarts" },
	{ "Completed", "string", "", "", 0, "completed" },
	{ "Suspended", "string", "", "JobSet suspended", 0, ".spec.suspend" },
	{ "Age", "date", "", "Time this JobSet was created", 0,
	  ".metadata.creationTimestamp" },
	{ .name = NULL },
};
static const struct column namespace_columns[] = {
	NAME,
	{ "Status", "string", "", "The status of the namespace", 0, ".status.phase" },
	AGE,
	{ .name = NULL },
};
static const struct column configmap_columns[] = {
	NAME,
	{ "Data", "string", "", "", 0, "data" },
	AGE,
	{ .name = NULL },
};
static const struct column secret_columns[] = {
	NAME,
	{ "Type", "string", "", "", 0, ".type" },
	{ "Data", "string", "", "", 0, "data" },
	AGE,
	{ .name = NULL },
};
static const struct column service_columns[] = {
	NAME,
	{ "Type", "string", "", "", 0, ".spec.type" },
	{ "Cluster-IP", "string", "", "", 0, "cluster-ip" },
	{ "External-IP", "string", "", "", 0, "external-ip" },
	{ "Port(s)", "string", "", "", 0, "ports" },
	AGE,
	{ "Selector", "string", "", "", 1, "service-selector" },
	{ .name = NULL },
};
static const struct column event_columns[] = {
	{ "Last Seen", "string", "", "", 0, "last-seen" },
	{ "Type", "string", "", "", 0, ".type" },
	{ "Reason", "string", "", "", 0, ".reason" },
	{ "Object", "string", "", "", 0, "involved" },
	{ "Subobject", "string", "", "", 1, ".involvedObject.fieldPath" },
	{ "Source", "string", "", "", 1, "source" },
	{ "Message", "string", "", "", 0, ".message" },
	{ "First Seen", "string", "", "", 1, "first-seen" },
	{ "Count", "string", "", "", 1, "count" },
	{ "Name", "string", "name", NAME_TEXT, 1, ".metadata.name" },
	{ .name = NULL },
};
static const struct column lease_columns[] = {
	NAME,
	{ "Holder", "string", "", "", 0, ".spec.holderIdentity" },
	AGE,
	{ .name = NULL },
};
static const struct column pod_columns[] = {
	NAME,
	{ "Ready", "string", "", "", 0, "ready" },
	{ "Status", "string", "", "", 0, "pod-status" },
	{ "Restarts", "string", "", "", 0, "restarts" },
	AGE,
	{ "IP", "string", "", "", 1, "pod-ip" },
	{ "Node", "string", "", "", 1, "pod-node" },
	{ "Nominated Node", "string", "", "", 1, "none" },
	{ "Readiness Gates", "string", "", "", 1, "none" },
	{ .name = NULL },
};
static const struct column job_columns[] = {
	NAME,
	{ "Status", "string", "", "", 0, "job-status" },
	{ "Completions", "string", "", "", 0, "completions" },
	{ "Duration", "string", "", "", 0, "duration" },
	AGE,
	{ "Containers", "string", "", "", 1, "containers" },
	{ "Images", "string", "", "", 1, "images" },
	{ "Selector", "string", "", "", 1, "selector" },
	{ .name = NULL },
};
static const struct column node_columns[] = {
	NAME,
	{ "Status", "string", "", "", 0, "node-status" },
	{ "Roles", "string", "", "", 0, "none" },
	AGE,
	{ "Version", "string", "", "", 0, ".status.nodeInfo.kubeletVersion" },
	{ "Internal-IP", "string", "", "", 1, "internal-ip" },
	{ "External-IP", "string", "", "", 1, "none" },
	{ "OS-Image", "string", "", "", 1, ".status.nodeInfo.osImage" },
	{ "Kernel-Version", "string", "", "", 1, ".status.nodeInfo.kernelVersion" },
	{ "Container-Runtime", "string", "", "", 1,
	  ".status.nodeInfo.containerRuntimeVersion" },
	{ .name = NULL },
};

static const char *const event_fields[] = { "involvedObject.kind",
					    "involvedObject.namespace",
					    "involvedObject.name",
					    "involvedObject.uid",
					    "involvedObject.apiVersion",
					    "involvedObject.resourceVersion",
					    "involvedObject.fieldPath",
					    "reason",
					    "reportingComponent",
					    "source",
					    "type",
					    NULL };
static const char *const pod_fields[] = { "spec.nodeName",
					  "spec.restartPolicy",
					  "spec.schedulerName",
					  "spec.serviceAccountName",
					  "spec.hostNetwork",
					  "status.phase",
					  "status.podIP",
					  "status.nominatedNodeName",
					  NULL };

#define CUSTOM     (RESOURCE_CUSTOM | RESOURCE_NAMESPACED)
#define NAMESPACED RESOURCE_NAMESPACED
#define READ_ONLY  (RESOURCE_READ_ONLY | RESOURCE_STATUS)

const struct resource resources[] = {
	{ TRAINER, "TrainJob", "trainjobs", "trainjob", CUSTOM | RESOURCE_STATUS, NULL,
	  NULL, trainjob_columns, NULL, NULL, NULL },
	{ TRAINER, "TrainingRuntime", "trainingruntimes", "trainingruntime", CUSTOM, NULL,
	  NULL, custom_columns, NULL, NULL, NULL },
	{ TRAINER, "ClusterTrainingRuntime", "clustertrainingruntimes",
	  "clustertrainingruntime", RESOURCE_CUSTOM, NULL, NULL, custom_columns, NULL,
	  NULL, NULL },
	{ "jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets", "jobset",
	  CUSTOM | RESOURCE_STATUS, NULL, NULL, jobset_columns, NULL, NULL, NULL },
	{ "v1", "Namespace", "namespaces", "namespace",
	  RESOURCE_STATUS | RESOURCE_ONE_BY_ONE, WORDS("ns"), NULL, namespace_columns,
	  WORDS("status.phase"), WORDS("spec", "status"), proto_namespace },
	{ "v1", "ConfigMap", "configmaps", "configmap", NAMESPACED, WORDS("cm"), NULL,
	  configmap_columns, NULL, NULL, proto_config_map },
	{ "v1", "Secret", "secrets", "secret", NAMESPACED, NULL, NULL, secret_columns,
	  WORDS("type"), NULL, proto_secret },
	{ "v1", "Service", "services", "service", NAMESPACED, WORDS("svc"), WORDS("all"),
	  service_columns, NULL, WORDS("spec", "status"), proto_service },
	{ "v1", "Event", "events", "event", NAMESPACED | RESOURCE_PUT_CREATES,
	  WORDS("ev"), NULL, event_columns, event_fields,
	  WORDS("involvedObject", "source"), proto_event_object },
	{ "coordination.k8s.io/v1", "Lease", "leases", "lease",
	  NAMESPACED | RESOURCE_PUT_CREATES | RESOURCE_VERSIONED, NULL, NULL,
	  lease_columns, NULL, WORDS("spec"), proto_lease },
	{ "v1", "Pod", "pods", "pod", NAMESPACED | READ_ONLY | RESOURCE_LOG, WORDS("po"),
	  WORDS("all"), pod_columns, pod_fields, WORDS("spec", "status"), NULL },
	{ "v1", "Node", "nodes", "node", READ_ONLY, WORDS("no"), NULL, node_columns,
	  WORDS("spec.unschedulable"), WORDS("spec", "status"), NULL },
	{ "batch/v1", "Job", "jobs", "job", NAMESPACED | READ_ONLY, NULL, WORDS("all"),
	  job_columns, WORDS("status.successful"), WORDS("spec", "status"), NULL },
	{ .kind = NULL },
};

const char *resource_version(const struct resource *r)
{
	const char *slash = strchr(r->api_version, '/');

	return slash ? slash + 1 : r->api_version;
}

const char *resource_group(struct arena *arena, const struct resource *r)
{
	return api_group(arena, r->api_version);
}

static const char *title(struct arena *arena, const struct resource *r, const char *name)
{
	const char *group = resource_group(arena, r);

	return *group ? arena_printf(arena, "%s.%s", name, group) : name;
}

const char *resource_title(struct arena *arena, const struct resource *r)
{
	return title(arena, r, r->plural);
}

const char *resource_kind_title(struct arena *arena, const struct resource *r)
{
	return title(arena, r, r->kind);
}

const struct resource *resource_find(const char *api_version, const char *plural)
{
	for (const struct resource *r = resources; r->kind; r++)
		if (str_eq(r->api_version, api_version) && str_eq(r->plural, plural))
			return r;
	return NULL;
}

const struct resource *resource_of_kind(const char *api_version, const char *kind)
{
	for (const struct resource *r = resources; r->kind; r++)
		if (str_eq(r->api_version, api_version) && str_eq(r->kind, kind))
			return r;
	return NULL;
}

/* ---- schemas ----------------------------------------------------------------------- */

int schemas_load(struct schemas *ret, struct error *err)
{
	const struct asset *ours = asset_find("schema.json");
	const struct asset *others = asset_find("machine.json");

	if (!ret->trainer) {
		if (schema_load(&ret->own, ours->data, ours->len, err))
			return -1;
		ret->trainer = ret->own;
	}
	if (schema_load_on(&ret->others, ret->trainer, others->data, others->len, err)) {
		schemas_release(ret);
		return error_wrap(err, "machine.json");
	}
	return 0;
}

void schemas_release(struct schemas *s)
{
	schema_free(s->others);
	schema_free(s->own);
	s->others = s->own = NULL;
	s->trainer = NULL;
}

const struct schema *schema_for(struct schemas *s, const struct resource *r)
{
	struct error err = { 0 };

	pthread_mutex_lock(&s->lock);
	if (!s->others && schemas_load(s, &err))
		abort();
	pthread_mutex_unlock(&s->lock);
	return str_eq(r->api_version, TRAINER) ? s->trainer : s->others;
}
