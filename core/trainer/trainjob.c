/* trainjob.c - the fields of a TrainJob (trainer/trainjob.h). */
#include "trainer/trainjob.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/json_index.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/podspec.h"
#include "trainer/shape.h"

static const struct shape secret_ref[] = { MEMBER("name", STRING), { 0 } };
static const struct shape initializer_shape[] = {
	MEMBER("storageUri", STRING),
	MEMBER("env", LIST, .of = shape_env),
	MEMBER("secretRef", OBJECT, .of = secret_ref),
	{ 0 },
};
static const struct shape initializers[] = {
	MEMBER("dataset", OBJECT, .of = initializer_shape),
	MEMBER("model", OBJECT, .of = initializer_shape),
	{ 0 },
};
static const struct shape trainer_claim[] = {
	MEMBER("name", STRING, .required = true),
	MEMBER("resourceClaimName", STRING),
	MEMBER("resourceClaimTemplateName", STRING),
	MEMBER("containerNames", STRINGS, .max = 64),
	{ 0 },
};
static const struct shape trainer[] = {
	MEMBER("image", STRING),
	MEMBER("command", STRINGS),
	MEMBER("args", STRINGS),
	MEMBER("env", LIST, .of = shape_env),
	MEMBER("numNodes", COUNT),
	MEMBER("numProcPerNode", COUNT),
	MEMBER("resourcesPerNode", OBJECT, .of = shape_resources),
	MEMBER("resourceClaimsPerNode", LIST, .of = trainer_claim, .max = 32),
	{ 0 },
};
static const struct shape runtime_ref[] = {
	MEMBER("name", STRING, .required = true),
	MEMBER("apiGroup", STRING),
	MEMBER("kind", STRING),
	{ 0 },
};
static const struct shape patch_template[] = {
	MEMBER("metadata", OBJECT, .of = shape_metadata),
	MEMBER("spec", OBJECT, .of = shape_jobset_spec),
	{ 0 },
};
static const struct shape patch_runtime_spec[] = {
	MEMBER("template", OBJECT, .of = patch_template),
	{ 0 },
};
static const struct shape patches[] = {
	MEMBER("manager", STRING),
	MEMBER("time", STRING),
	MEMBER("trainingRuntimeSpec", OBJECT, .of = patch_runtime_spec),
	{ 0 },
};
static const struct shape spec[] = {
	MEMBER("runtimeRef", OBJECT, .of = runtime_ref, .required = true),
	MEMBER("initializer", OBJECT, .of = initializers),
	MEMBER("trainer", OBJECT, .of = trainer),
	MEMBER("runtimePatches", LIST, .of = patches, .max = 16),
	MEMBER("suspend", BOOL),
	MEMBER("activeDeadlineSeconds", INT),
	MEMBER("ttlSecondsAfterFinished", COUNT),
	MEMBER("managedBy", STRING),
	{ 0 },
};
static const struct shape metadata[] = {
	MEMBER("name", STRING, .required = true),
	MEMBER("namespace", STRING),
	MEMBER("uid", STRING),
	{ 0 },
};
const struct shape shape_trainjob[] = {
	MEMBER("metadata", OBJECT, .of = metadata, .required = true),
	MEMBER("spec", OBJECT, .of = spec, .required = true),
	{ 0 },
};

const char *const initializer_name[N_INITIALIZERS] = {
	[INIT_DATASET] = DATASET_INITIALIZER,
	[INIT_MODEL] = MODEL_INITIALIZER,
};
static const char *const initializer_key[N_INITIALIZERS] = {
	[INIT_DATASET] = "dataset",
	[INIT_MODEL] = "model",
};

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

struct runtime_ref tj_runtime_ref(const cJSON *tj)
{
	const cJSON *ref = json_get(tj, "spec", "runtimeRef");

	return (struct runtime_ref){
		.group = or_empty(json_str(ref, "apiGroup")),
		.kind = or_empty(json_str(ref, "kind")),
		.name = or_empty(json_str(ref, "name")),
	};
}

bool runtime_ref_is_cluster(const struct runtime_ref *ref)
{
	return str_eq(ref->group, TRAINER_GROUP) &&
	       str_eq(ref->kind, CLUSTER_RUNTIME_KIND);
}

int tj_check_runtime_ref(const cJSON *tj, struct error *err)
{
	struct runtime_ref ref = tj_runtime_ref(tj);

	if (str_eq(ref.group, TRAINER_GROUP) &&
	    (str_eq(ref.kind, RUNTIME_KIND) || str_eq(ref.kind, CLUSTER_RUNTIME_KIND)))
		return 0;
	if (!*ref.kind && !*ref.group)
		return error_set(
			err, ERR_INVALID,
			"unsupported runtime: none is given; set its name, such as "
			"torch-distributed");
	return error_set(err, ERR_INVALID, "unsupported runtime: %s%s%s", ref.kind,
			 *ref.group ? "." : "", ref.group);
}

cJSON *tj_runtime_ref_value(const cJSON *tj)
{
	static const char *const keys[] = { "name", "apiGroup", "kind" };
	const cJSON *ref = json_get(tj, "spec", "runtimeRef");
	cJSON *ret = cJSON_CreateObject();

	for (size_t i = 0; i < N_ELEMENTS(keys); i++)
		if (json_str(ref, keys[i]))
			json_put_str(ret, json_str(ref, keys[i]), keys[i]);
	return ret;
}

const cJSON *tj_trainer(const cJSON *tj)
{
	return json_get(tj, "spec", "trainer");
}

const cJSON *tj_trainer_member(const cJSON *tj, const char *key)
{
	return json_get(tj, "spec", "trainer", key);
}

int64_t tj_num_nodes(const cJSON *tj)
{
	return json_int(tj, ABSENT, "spec", "trainer", "numNodes");
}

int64_t tj_num_proc_per_node(const cJSON *tj)
{
	return json_int(tj, ABSENT, "spec", "trainer", "numProcPerNode");
}

const char *tj_image(const cJSON *tj)
{
	return json_str(tj, "spec", "trainer", "image");
}

const cJSON *tj_command(const cJSON *tj)
{
	return json_get(tj, "spec", "trainer", "command");
}

const cJSON *tj_args(const cJSON *tj)
{
	return json_get(tj, "spec", "trainer", "args");
}

const cJSON *tj_env(const cJSON *tj)
{
	return json_get(tj, "spec", "trainer", "env");
}

const cJSON *tj_resources_per_node(const cJSON *tj)
{
	return json_get(tj, "spec", "trainer", "resourcesPerNode");
}

const cJSON *tj_resource_claims(const cJSON *tj)
{
	return json_get(tj, "spec", "trainer", "resourceClaimsPerNode");
}

const cJSON *trainer_claim_containers(const cJSON *claim)
{
	return json_get(claim, "containerNames");
}

const cJSON *tj_initializer(const cJSON *tj, enum initializer which)
{
	return json_get(tj, "spec", "initializer", initializer_key[which]);
}

const char *initializer_storage_uri(const cJSON *initializer)
{
	return json_str(initializer, "storageUri");
}

const cJSON *initializer_env(const cJSON *initializer)
{
	return json_get(initializer, "env");
}

const char *initializer_secret(const cJSON *initializer)
{
	return json_str(initializer, "secretRef", "name");
}

const cJSON *tj_runtime_patches(const cJSON *tj)
{
	return json_get(tj, "spec", "runtimePatches");
}

const char *patch_manager(const cJSON *patch)
{
	return json_str(patch, "manager");
}

const cJSON *patch_metadata(const cJSON *patch)
{
	return json_get(patch, "trainingRuntimeSpec", "template", "metadata");
}

const cJSON *patch_jobset_spec(const cJSON *patch)
{
	return json_get(patch, "trainingRuntimeSpec", "template", "spec");
}

bool tj_suspend(const cJSON *tj)
{
	return json_bool(tj, false, "spec", "suspend");
}

void tj_set_suspend(cJSON *tj, bool suspend)
{
	json_put_bool(tj, suspend, "spec", "suspend");
}

const cJSON *tj_suspend_node(const cJSON *tj)
{
	return json_get(tj, "spec", "suspend");
}

int64_t tj_active_deadline(const cJSON *tj)
{
	return json_int(tj, ABSENT, "spec", "activeDeadlineSeconds");
}

int64_t tj_ttl(const cJSON *tj)
{
	return json_int(tj, ABSENT, "spec", "ttlSecondsAfterFinished");
}

bool tj_is_ours(const cJSON *tj)
{
	const char *manager = json_str(tj, "spec", "managedBy");

	return !manager || str_eq(manager, MANAGED_BY_TRAINER);
}

const char *tj_annotation(const cJSON *tj, const cJSON *template_annotations,
			  const char *key)
{
	const char *own = meta_annotation(tj, key);

	return own ? own : json_str(template_annotations, key);
}

const cJSON *tj_status(const cJSON *tj)
{
	return json_get(tj, "status");
}

static cJSON *spec_but_suspend(const cJSON *tj)
{
	cJSON *ret = json_dup(json_get(tj, "spec"));

	cJSON_DeleteItemFromObjectCaseSensitive(ret, "suspend");
	cJSON_DeleteItemFromObjectCaseSensitive(ret, "ttlSecondsAfterFinished");
	return ret;
}

bool tj_same_but_suspend(const cJSON *a, const cJSON *b)
{
	cleanup_json cJSON *sa = spec_but_suspend(a);
	cleanup_json cJSON *sb = spec_but_suspend(b);

	return json_equal(sa, sb);
}

/* A patch without its time, nulls and empty values, for comparison. */
static cJSON *patch_contents(const cJSON *patch)
{
	cJSON *ret = json_dup(patch);

	cJSON_DeleteItemFromObjectCaseSensitive(ret, "time");
	drop_omitempty_of_patch(ret);
	return ret;
}

static bool same_contents(const cJSON *a, const cJSON *b)
{
	cleanup_json cJSON *ca = patch_contents(a);
	cleanup_json cJSON *cb = patch_contents(b);

	return json_equal(ca, cb);
}

static void default_patch_time(cJSON *patch, const cJSON *old, const char *now)
{
	const char *old_time = json_str(old, "time");

	if (old && same_contents(old, patch)) {
		if (old_time)
			json_put_str(patch, old_time, "time");
		else
			cJSON_DeleteItemFromObjectCaseSensitive(patch, "time");
	} else if (old || !json_str(patch, "time")) {
		json_put_str(patch, now, "time");
	}
}

void tj_default_patch_times(cJSON *tj, const cJSON *old, const char *now)
{
	const cJSON *before = tj_runtime_patches(old);
	cJSON *patch;

	json_each(patch, json_get(tj, "spec", "runtimePatches")) {
		if (cJSON_IsObject(patch))
			default_patch_time(
				patch,
				json_find_const(before, "manager", patch_manager(patch)),
				now);
	}
}

void tj_keep_ttl(cJSON *tj, const cJSON *old)
{
	int64_t ttl = tj_ttl(old);

	if (ttl == ABSENT || json_get(tj, "spec", "ttlSecondsAfterFinished") ||
	    !cJSON_IsObject(json_get(tj, "spec")) ||
	    (tj_suspend(old) == tj_suspend(tj) &&
	     json_equal(tj_runtime_patches(old), tj_runtime_patches(tj))))
		return;
	json_put_int(tj, ttl, "spec", "ttlSecondsAfterFinished");
}

/* Do they differ, but only by nulls and empty values? */
static bool differ_by_empty(const cJSON *a, const cJSON *b)
{
	return cJSON_IsObject(a) && cJSON_IsObject(b) && !json_equal(a, b) &&
	       same_contents(a, b);
}

void tj_keep_empty(cJSON *tj, const cJSON *old)
{
	static const char *const members[] = { "trainer", "initializer" };
	cJSON *list = json_get(tj, "spec", "runtimePatches"), *patch, *next;
	const cJSON *before;

	for (size_t i = 0; i < N_ELEMENTS(members); i++) {
		before = json_get(old, "spec", members[i]);
		if (differ_by_empty(before, json_get(tj, "spec", members[i])))
			json_put(tj, json_dup(before), "spec", members[i]);
	}
	for (patch = list ? list->child : NULL; patch; patch = next) {
		next = patch->next;
		before = json_find_const(tj_runtime_patches(old), "manager",
					 patch_manager(patch));
		if (differ_by_empty(before, patch))
			cJSON_ReplaceItemViaPointer(list, patch, json_dup(before));
	}
}

/* ---- making one ------------------------------------------------------------------ */

cJSON *tj_new(const char *name, const char *runtime)
{
	cJSON *tj = meta_new(TRAINER_API_VERSION, TRAINJOB_KIND, NULL, name);

	json_put_str(tj, runtime, "spec", "runtimeRef", "name");
	json_obj(tj, "spec", "trainer");
	return tj;
}

void tj_set_runtime_kind(cJSON *tj, const char *kind)
{
	json_put_str(tj, kind, "spec", "runtimeRef", "kind");
}

void tj_set_image(cJSON *tj, const char *image)
{
	json_put_str(tj, image, "spec", "trainer", "image");
}

void tj_set_num_nodes(cJSON *tj, int64_t n)
{
	json_put_int(tj, n, "spec", "trainer", "numNodes");
}

void tj_set_num_proc_per_node(cJSON *tj, int64_t n)
{
	json_put_int(tj, n, "spec", "trainer", "numProcPerNode");
}

void tj_merge_env(cJSON *tj, const cJSON *env)
{
	cleanup_json_index struct json_index vars = {
		.of = json_list(tj, "spec", "trainer", "env"), .key = "name"
	};
	const cJSON *var;

	json_each(var, env)
		json_index_upsert(&vars, json_dup(var));
}

void tj_set_storage_uri(cJSON *tj, enum initializer which, const char *uri)
{
	json_put_str(tj, uri, "spec", "initializer", initializer_key[which],
		     "storageUri");
}

void tj_add_command(cJSON *tj, const char *word)
{
	cJSON_AddItemToArray(json_list(tj, "spec", "trainer", "command"),
			     cJSON_CreateString(word));
}

void tj_add_arg(cJSON *tj, const char *word)
{
	cJSON_AddItemToArray(json_list(tj, "spec", "trainer", "args"),
			     cJSON_CreateString(word));
}

void tj_set_resource(cJSON *tj, const char *resource, const char *quantity)
{
	static const char *const both[] = { "limits", "requests" };

	for (size_t i = 0; i < N_ELEMENTS(both); i++)
		json_put_str(tj, quantity, "spec", "trainer", "resourcesPerNode", both[i],
			     resource);
}
