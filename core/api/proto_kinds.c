/* proto_kinds.c - the protobuf fields of objects that clients write (api/proto.h). */
#include "api/proto.h"

/*
 * Field numbers are from k8s.io/api .../generated.proto, omitempty is from types.go.
 * Status is included if its endpoint is served.
 */

/* ---- apimachinery/pkg/apis/meta/v1 ---- */

static const struct proto_field owner[] = {
	{ 5, PROTO_TEXT, "apiVersion", NULL },
	{ 1, PROTO_TEXT, "kind", NULL },
	{ 3, PROTO_TEXT, "name", NULL },
	{ 4, PROTO_TEXT, "uid", NULL },
	{ 6, PROTO_BOOL, "controller", NULL },
	{ 7, PROTO_BOOL, "blockOwnerDeletion", NULL },
	{ 0 },
};
static const struct proto_field managed_fields[] = {
	{ 1, PROTO_STRING, "manager", NULL },     { 2, PROTO_STRING, "operation", NULL },
	{ 3, PROTO_STRING, "apiVersion", NULL },  { 4, PROTO_TIME, "time", NULL },
	{ 6, PROTO_STRING, "fieldsType", NULL },  { 7, PROTO_JSON, "fieldsV1", NULL },
	{ 8, PROTO_STRING, "subresource", NULL }, { 0 },
};
static const struct proto_field meta[] = {
	{ 1, PROTO_STRING, "name", NULL },
	{ 2, PROTO_STRING, "generateName", NULL },
	{ 3, PROTO_STRING, "namespace", NULL },
	{ 5, PROTO_STRING, "uid", NULL },
	{ 6, PROTO_STRING, "resourceVersion", NULL },
	{ 7, PROTO_NONZERO, "generation", NULL },
	{ 8, PROTO_TIME, "creationTimestamp", NULL },
	{ 9, PROTO_TIME, "deletionTimestamp", NULL },
	{ 10, PROTO_INT, "deletionGracePeriodSeconds", NULL },
	{ 11, PROTO_MAP, "labels", NULL },
	{ 12, PROTO_MAP, "annotations", NULL },
	{ 13, PROTO_LIST, "ownerReferences", owner },
	{ 14, PROTO_STRINGS, "finalizers", NULL },
	{ 17, PROTO_LIST, "managedFields", managed_fields },
	{ 0 },
};
static const struct proto_field preconditions[] = {
	{ 1, PROTO_TEXT, "uid", NULL },
	{ 2, PROTO_TEXT, "resourceVersion", NULL },
	{ 0 },
};
const struct proto_field proto_delete_options[] = {
	{ 1, PROTO_INT, "gracePeriodSeconds", NULL },
	{ 2, PROTO_OBJECT, "preconditions", preconditions },
	{ 3, PROTO_BOOL, "orphanDependents", NULL },
	{ 4, PROTO_TEXT, "propagationPolicy", NULL },
	{ 5, PROTO_STRINGS, "dryRun", NULL },
	{ 0 },
};

/* ---- api/core/v1 ---- */

static const struct proto_field namespace_spec[] = {
	{ 1, PROTO_STRINGS, "finalizers", NULL },
	{ 0 },
};
static const struct proto_field namespace_status[] = {
	{ 1, PROTO_STRING, "phase", NULL },
	{ 0 },
};
const struct proto_field proto_namespace[] = {
	{ 1, PROTO_OBJECT, "metadata", meta },
	{ 2, PROTO_OBJECT, "spec", namespace_spec },
	{ 3, PROTO_OBJECT, "status", namespace_status },
	{ 0 },
};
const struct proto_field proto_config_map[] = {
	{ 1, PROTO_OBJECT, "metadata", meta },
	{ 2, PROTO_MAP, "data", NULL },
	{ 3, PROTO_BYTES, "binaryData", NULL },
	{ 4, PROTO_BOOL, "immutable", NULL },
	{ 0 },
};
const struct proto_field proto_secret[] = {
	{ 1, PROTO_OBJECT, "metadata", meta }, { 2, PROTO_BYTES, "data", NULL },
	{ 3, PROTO_STRING, "type", NULL },     { 4, PROTO_MAP, "stringData", NULL },
	{ 5, PROTO_BOOL, "immutable", NULL },  { 0 },
};
static const struct proto_field port[] = {
	{ 1, PROTO_STRING, "name", NULL },
	{ 2, PROTO_STRING, "protocol", NULL },
	{ 3, PROTO_INT, "port", NULL },
	{ 4, PROTO_INT_OR_STRING, "targetPort", NULL },
	{ 5, PROTO_NONZERO, "nodePort", NULL },
	{ 6, PROTO_TEXT, "appProtocol", NULL },
	{ 0 },
};
static const struct proto_field client_ip[] = {
	{ 1, PROTO_INT, "timeoutSeconds", NULL },
	{ 0 },
};
static const struct proto_field affinity[] = {
	{ 1, PROTO_OBJECT, "clientIP", client_ip },
	{ 0 },
};
static const struct proto_field service_spec[] = {
	{ 1, PROTO_LIST, "ports", port },
	{ 2, PROTO_MAP, "selector", NULL },
	{ 3, PROTO_STRING, "clusterIP", NULL },
	{ 4, PROTO_STRING, "type", NULL },
	{ 5, PROTO_STRINGS, "externalIPs", NULL },
	{ 7, PROTO_STRING, "sessionAffinity", NULL },
	{ 8, PROTO_STRING, "loadBalancerIP", NULL },
	{ 9, PROTO_STRINGS, "loadBalancerSourceRanges", NULL },
	{ 10, PROTO_STRING, "externalName", NULL },
	{ 11, PROTO_STRING, "externalTrafficPolicy", NULL },
	{ 12, PROTO_NONZERO, "healthCheckNodePort", NULL },
	{ 13, PROTO_TRUE, "publishNotReadyAddresses", NULL },
	{ 14, PROTO_OBJECT, "sessionAffinityConfig", affinity },
	{ 17, PROTO_TEXT, "ipFamilyPolicy", NULL },
	{ 18, PROTO_STRINGS, "clusterIPs", NULL },
	{ 19, PROTO_STRINGS, "ipFamilies", NULL },
	{ 20, PROTO_BOOL, "allocateLoadBalancerNodePorts", NULL },
	{ 21, PROTO_TEXT, "loadBalancerClass", NULL },
	{ 22, PROTO_TEXT, "internalTrafficPolicy", NULL },
	{ 23, PROTO_TEXT, "trafficDistribution", NULL },
	{ 0 },
};
static const struct proto_field nothing[] = { { 0 } };
static const struct proto_field service_status[] = {
	{ 1, PROTO_OBJECT, "loadBalancer", nothing },
	{ 0 },
};
const struct proto_field proto_service[] = {
	{ 1, PROTO_OBJECT, "metadata", meta },
	{ 2, PROTO_OBJECT, "spec", service_spec },
	{ 3, PROTO_OBJECT, "status", service_status },
	{ 0 },
};
static const struct proto_field reference[] = {
	{ 1, PROTO_STRING, "kind", NULL },
	{ 2, PROTO_STRING, "namespace", NULL },
	{ 3, PROTO_STRING, "name", NULL },
	{ 4, PROTO_STRING, "uid", NULL },
	{ 5, PROTO_STRING, "apiVersion", NULL },
	{ 6, PROTO_STRING, "resourceVersion", NULL },
	{ 7, PROTO_STRING, "fieldPath", NULL },
	{ 0 },
};
static const struct proto_field source[] = {
	{ 1, PROTO_STRING, "component", NULL },
	{ 2, PROTO_STRING, "host", NULL },
	{ 0 },
};
static const struct proto_field series[] = {
	{ 1, PROTO_NONZERO, "count", NULL },
	{ 2, PROTO_MICRO_TIME, "lastObservedTime", NULL },
	{ 0 },
};
const struct proto_field proto_event_object[] = {
	{ 1, PROTO_OBJECT, "metadata", meta },
	{ 2, PROTO_OBJECT, "involvedObject", reference },
	{ 3, PROTO_STRING, "reason", NULL },
	{ 4, PROTO_STRING, "message", NULL },
	{ 5, PROTO_OBJECT, "source", source },
	{ 6, PROTO_TIME, "firstTimestamp", NULL },
	{ 7, PROTO_TIME, "lastTimestamp", NULL },
	{ 8, PROTO_NONZERO, "count", NULL },
	{ 9, PROTO_STRING, "type", NULL },
	{ 10, PROTO_MICRO_TIME, "eventTime", NULL },
	{ 11, PROTO_OBJECT, "series", series },
	{ 12, PROTO_STRING, "action", NULL },
	{ 13, PROTO_OBJECT, "related", reference },
	{ 14, PROTO_TEXT, "reportingComponent", NULL },
	{ 15, PROTO_TEXT, "reportingInstance", NULL },
	{ 0 },
};

/* ---- api/coordination/v1 ---- */

static const struct proto_field lease_spec[] = {
	{ 1, PROTO_TEXT, "holderIdentity", NULL },
	{ 2, PROTO_INT, "leaseDurationSeconds", NULL },
	{ 3, PROTO_MICRO_TIME, "acquireTime", NULL },
	{ 4, PROTO_MICRO_TIME, "renewTime", NULL },
	{ 5, PROTO_INT, "leaseTransitions", NULL },
	{ 6, PROTO_TEXT, "strategy", NULL },
	{ 7, PROTO_TEXT, "preferredHolder", NULL },
	{ 0 },
};
const struct proto_field proto_lease[] = {
	{ 1, PROTO_OBJECT, "metadata", meta },
	{ 2, PROTO_OBJECT, "spec", lease_spec },
	{ 0 },
};

/* ---- api/authorization/v1, api/authentication/v1 ---- */

static const struct proto_field resource_attributes[] = {
	{ 1, PROTO_STRING, "namespace", NULL }, { 2, PROTO_STRING, "verb", NULL },
	{ 3, PROTO_STRING, "group", NULL },     { 4, PROTO_STRING, "version", NULL },
	{ 5, PROTO_STRING, "resource", NULL },  { 6, PROTO_STRING, "subresource", NULL },
	{ 7, PROTO_STRING, "name", NULL },      { 0 },
};
static const struct proto_field path_attributes[] = {
	{ 1, PROTO_STRING, "path", NULL },
	{ 2, PROTO_STRING, "verb", NULL },
	{ 0 },
};
static const struct proto_field access_spec[] = {
	{ 1, PROTO_OBJECT, "resourceAttributes", resource_attributes },
	{ 2, PROTO_OBJECT, "nonResourceAttributes", path_attributes },
	{ 0 },
};
const struct proto_field proto_access_review[] = {
	{ 1, PROTO_OBJECT, "metadata", meta },
	{ 2, PROTO_OBJECT, "spec", access_spec },
	{ 0 },
};
static const struct proto_field rules_spec[] = {
	{ 1, PROTO_STRING, "namespace", NULL },
	{ 0 },
};
const struct proto_field proto_rules_review[] = {
	{ 1, PROTO_OBJECT, "metadata", meta },
	{ 2, PROTO_OBJECT, "spec", rules_spec },
	{ 0 },
};
const struct proto_field proto_self_review[] = {
	{ 1, PROTO_OBJECT, "metadata", meta },
	{ 0 },
};
static const struct proto_field token_spec[] = {
	{ 1, PROTO_STRING, "token", NULL },
	{ 2, PROTO_STRINGS, "audiences", NULL },
	{ 0 },
};
const struct proto_field proto_token_review[] = {
	{ 1, PROTO_OBJECT, "metadata", meta },
	{ 2, PROTO_OBJECT, "spec", token_spec },
	{ 0 },
};
