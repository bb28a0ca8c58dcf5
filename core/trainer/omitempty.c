/*
 * omitempty.c - leave out what Kubernetes' typed clients leave out (trainer/shape.h).
 *
 * Follows the Go types of jobset.x-k8s.io/v1alpha2, batch/v1 and core/v1: a "", 0 or
 * false is not sent if the field has `omitempty` and is no pointer. The tables below list
 * these fields by name; a name that is a pointer in other objects is listed with its own
 * objects.
 */
#include "base/str.h"
#include "trainer/shape.h"

/* Maps with keys of the user. */
static const char *const maps[] = {
	"annotations", "labels",   "limits",   "matchLabels",      "nodeSelector",
	"options",     "overhead", "requests", "volumeAttributes", NULL,
};

/* Maps that are not sent if empty. Other empty objects are sent: they have a meaning. */
static const char *const plain_maps[] = {
	"limits",   "matchLabels", "nodeSelector",     "options",
	"overhead", "requests",    "volumeAttributes", NULL,
};

static const char *const flags[] = {
	"chapAuthDiscovery", "chapAuthSession", "hostIPC",   "hostNetwork", "hostPID",
	"sslEnabled",        "stdin",           "stdinOnce", "tty",         NULL,
};

static const char *const numbers[] = {
	"failureThreshold", "hostPort",    "initialDelaySeconds",
	"jobIndex",         "maxRestarts", "partition",
	"periodSeconds",    "podIndex",    "successThreshold",
	"timeoutSeconds",   NULL,
};

static const char *const strings[] = {
	"audience",
	"certificateChainPath",
	"credentialBundlePath",
	"datasetName",
	"datasetUUID",
	"directory",
	"dnsPolicy",
	"effect",
	"group",
	"groupName",
	"host",
	"hostIP",
	"hostname",
	"imagePullPolicy",
	"iscsiInterface",
	"keyPath",
	"keyType",
	"keyring",
	"level",
	"medium",
	"nodeName",
	"pool",
	"prefix",
	"priorityClassName",
	"protectionDomain",
	"protocol",
	"pullPolicy",
	"reference",
	"request",
	"restartStrategy",
	"revision",
	"role",
	"schedulerName",
	"scheme",
	"secretFile",
	"serviceAccount",
	"serviceAccountName",
	"storageMode",
	"storagePolicyID",
	"storagePolicyName",
	"storagePool",
	"subPath",
	"subPathExpr",
	"subdomain",
	"tenant",
	"terminationMessagePath",
	"terminationMessagePolicy",
	"user",
	"volumeNamespace",
	"workingDir",
	NULL,
};

/* Strings that are omitted only in these objects, or elements of these lists. */
static const struct {
	const char *key;
	const char *const *in;
} placed[] = {
#define IN(...) ((const char *const[]){ __VA_ARGS__, NULL })
	{ "action", IN("restartPolicyRules") },
	{ "apiVersion", IN("fieldRef", "templates") },
	{ "containerName", IN("resourceFieldRef") },
	{ "fsType",
	  IN("awsElasticBlockStore", "cinder", "fc", "flexVolume", "gcePersistentDisk",
	     "iscsi", "photonPersistentDisk", "portworxVolume", "rbd", "scaleIO",
	     "storageos", "vsphereVolume") },
	{ "image", IN("containers", "initContainers") },
	{ "key", IN("tolerations") },
	{ "kind", IN("templates") },
	{ "name", IN("configMap", "configMapKeyRef", "configMapRef", "imagePullSecrets",
		     "metadata", "nodePublishSecretRef", "options", "ports", "secret",
		     "secretKeyRef", "secretRef") },
	{ "namespace", IN("metadata") },
	{ "operator", IN("exitCodes", "tolerations") },
	{ "path", IN("cephfs", "httpGet") },
	{ "restartPolicy", IN("spec") },
	{ "secretName", IN("secret") },
	{ "signerName", IN("podCertificate") },
	{ "type", IN("seLinuxOptions") },
	{ "value", IN("env", "tolerations") },
	{ "volumeName", IN("scaleIO", "spec", "storageos") },
#undef IN
};

/* Objects in which readOnly is a pointer, so that false is sent. */
static const char *const read_only_sent[] = { "azureDisk", "csi", NULL };

enum omit { OMIT_NULL, OMIT_EMPTY, OMIT_EMPTY_PATCH };

static bool is_plain_string(const char *key, const char *in, enum omit omit)
{
	if (omit == OMIT_EMPTY_PATCH && str_eq(key, "serviceAccountName"))
		return false;
	for (size_t i = 0; i < N_ELEMENTS(placed); i++)
		if (str_eq(key, placed[i].key))
			return in && str_in(in, placed[i].in);
	return str_in(key, strings);
}

static bool is_plain_flag(const char *key, const char *in)
{
	if (str_eq(key, "readOnly"))
		return !in || !str_in(in, read_only_sent);
	return str_in(key, flags);
}

static bool is_omitted(const cJSON *member, const char *in, enum omit omit)
{
	int64_t n;

	if (cJSON_IsArray(member))
		return !member->child;
	if (cJSON_IsObject(member))
		return !member->child && str_in(member->string, plain_maps);
	if (cJSON_IsString(member))
		return !*member->valuestring && is_plain_string(member->string, in, omit);
	if (cJSON_IsNumber(member))
		return json_int_of(member, &n) && n == 0 &&
		       str_in(member->string, numbers);
	return cJSON_IsFalse(member) && is_plain_flag(member->string, in);
}

/* `in`: the key of this object, or of the list that has it as an element. */
static void drop(cJSON *doc, enum omit omit, const char *in)
{
	cJSON *child = doc ? doc->child : NULL, *next;

	if (cJSON_IsObject(doc) && in && str_in(in, maps) && str_eq(doc->string, in))
		omit = OMIT_NULL;
	for (; child; child = next) {
		next = child->next;
		drop(child, omit, cJSON_IsArray(doc) ? in : child->string);
		if (cJSON_IsObject(doc) &&
		    (cJSON_IsNull(child) ||
		     (omit != OMIT_NULL && is_omitted(child, in, omit))))
			cJSON_Delete(cJSON_DetachItemViaPointer(doc, child));
	}
}

void drop_nulls(cJSON *doc)
{
	drop(doc, OMIT_NULL, NULL);
}

void drop_omitempty(cJSON *doc)
{
	drop(doc, OMIT_EMPTY, NULL);
}

void drop_omitempty_of_patch(cJSON *doc)
{
	drop(doc, OMIT_EMPTY_PATCH, NULL);
}
