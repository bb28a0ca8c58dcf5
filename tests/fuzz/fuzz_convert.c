/*
 * An object of V1's kinds, [object, shared runtime], or bytes that choose one: it is refused with a reason, or
 * what it becomes is what a cluster's webhooks take, twice the same; the input stays.
 */
#include "api/meta.h"
#include "api/schema.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "convert/convert.h"
#include "plugins/plugins.h"
#include "tests/fuzz/fuzz.h"
#include "trainer/pipeline.h"

static const struct plugin_env env = { .keys = &keys_placeholder };
static const struct pipeline pipeline = { plugins, &env };

static struct schema *load(const char *name, const struct schema *base)
{
	const struct asset *own = asset_find(name);
	struct schema *ret = NULL;
	struct error err = { 0 };

	FUZZ_CHECK(!schema_load_on(&ret, base, own->data, own->len, &err));
	return ret;
}

static struct {
	struct schema *ours, *v1, *v2beta1;
} schemas;

/* As cmd/convert.c: true when it is refused. */
static bool is_refused(const struct convert_result *r, const cJSON *shared)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_json cJSON *job = json_dup(r->job);
	cleanup_json cJSON *runtime = json_dup(r->runtime ? r->runtime : shared);
	cleanup_json cJSON *objects = NULL;
	struct error err = { 0 };

	schema_validate(schemas.ours, job, NULL, &errs);
	schema_validate(schemas.ours, runtime, NULL, &errs);
	if (errs.n)
		return true;
	schema_default(schemas.ours, job);
	schema_default(schemas.ours, runtime);
	pipeline_validate_runtime(runtime, &errs, NULL);
	if (!errs.n)
		pipeline_validate(&pipeline, NULL, job, runtime, &errs, NULL);
	if (errs.n)
		return true;
	/* What no webhook refuses is built, or is too large. */
	if (pipeline_build(&pipeline, job, runtime, &objects, &err))
		FUZZ_CHECK(err.kind == ERR_LIMIT || err.kind == ERR_INVALID);
	return false;
}

static char *convert(const cJSON *obj, const cJSON *shared, bool upstream)
{
	const struct convert_conf conf = { schemas.v1, schemas.v2beta1, shared,
					   upstream };
	cleanup_convert_result struct convert_result r = { 0 };

	convert_job(&r, &conf, obj);
	if (r.errs.n) {
		FUZZ_CHECK(!r.job && !r.runtime);
		return NULL;
	}
	FUZZ_CHECK(r.job && (shared ? !r.runtime : r.runtime != NULL));
	FUZZ_CHECK(str_eq(meta_name(r.job), meta_name(obj)));
	for (size_t i = 0; i < r.n; i++)
		FUZZ_CHECK(r.notes[i].path && r.notes[i].value && r.notes[i].text);
	(void)!is_refused(&r, shared);
	return json_text(r.job);
}

/* A TrainJob or a runtime of Kubeflow Trainer 2.0 and 2.1, or nearly. */
static void convert_old(const cJSON *obj)
{
	cleanup_convert_result struct convert_result r = { 0 };
	cleanup_json cJSON *copy = json_dup(obj);

	convert_trainer(&r, copy);
	for (size_t i = 0; i < r.n; i++)
		FUZZ_CHECK(r.notes[i].path && r.notes[i].value && r.notes[i].text);
}

/* As if the job were another document that names it. */
static void mention(const cJSON *obj)
{
	const struct convert_conf conf = { schemas.v1, schemas.v2beta1, NULL, false };
	cleanup_convert_result struct convert_result r = { 0 };
	cleanup_map struct map jobs = { 0 };

	if (!meta_name(obj) || !convert_is_valid(&conf, obj))
		return;
	map_put(&jobs, meta_name(obj), (void *)(uintptr_t)obj);
	convert_mentions(&r, &conf, &jobs, obj);
	for (size_t i = 0; i < r.n; i++)
		FUZZ_CHECK(r.notes[i].path && r.notes[i].value && r.notes[i].text);
}

static void run(const cJSON *obj, const cJSON *shared)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_free char *before = json_text(obj), *once = NULL, *twice = NULL;
	cleanup_free char *upstream = NULL, *after = NULL;

	if (convert_what(obj, &errs) != CONVERT_JOB) {
		convert_old(obj);
		return;
	}
	mention(obj);
	once = convert(obj, shared, false);
	twice = convert(obj, shared, false);
	upstream = convert(obj, shared, true);
	FUZZ_CHECK(str_eq(once, twice));
	after = json_text(obj);
	FUZZ_CHECK(str_eq(before, after));
}

/* ---- objects from bytes ---- */

static const struct {
	const char *kind, *version, *specs, *container;
	const char *roles[3];
} kinds[] = {
	{ "PyTorchJob", "v1", "pytorchReplicaSpecs", "pytorch", { "Master", "Worker" } },
	{ "TFJob", "v1", "tfReplicaSpecs", "tensorflow", { "Chief", "PS", "Worker" } },
	{ "XGBoostJob", "v1", "xgbReplicaSpecs", "xgboost", { "Master", "Worker" } },
	{ "PaddleJob", "v1", "paddleReplicaSpecs", "paddle", { "Master", "Worker" } },
	{ "JAXJob", "v1", "jaxReplicaSpecs", "jax", { "Worker" } },
	{ "MPIJob", "v1", "mpiReplicaSpecs", "mpi", { "Launcher", "Worker" } },
	{ "MPIJob", "v2beta1", "mpiReplicaSpecs", "mpi", { "Launcher", "Worker" } },
};
/* Below spec, and below a role: chosen by a byte each, with one of the values. */
static const char *const of_spec[] = {
	"runPolicy/suspend",
	"runPolicy/backoffLimit",
	"runPolicy/cleanPodPolicy",
	"runPolicy/managedBy",
	"runPolicy/ttlSecondsAfterFinished",
	"runPolicy/schedulingPolicy/queue",
	"runPolicy/schedulingPolicy/minAvailable",
	"runPolicy/schedulingPolicy/priorityClass",
	"runPolicy/schedulingPolicy/scheduleTimeoutSeconds",
	"nprocPerNode",
	"elasticPolicy/minReplicas",
	"elasticPolicy/rdzvHost",
	"elasticPolicy/rdzvConf",
	"elasticPolicy/metrics",
	"successPolicy",
	"enableDynamicWorker",
	"slotsPerWorker",
	"mainContainer",
	"runLauncherAsWorker",
	"launcherCreationPolicy",
	"mpiImplementation",
};
static const char *const of_role[] = {
	"replicas",
	"restartPolicy",
	"template/metadata/labels",
	"template/spec/restartPolicy",
	"template/spec/hostname",
	"template/spec/nodeSelector",
	"template/spec/volumes",
	"template/spec/initContainers",
	"template/spec/containers",
	"template/spec/schedulerName",
};
static const char *const values[] = {
	"true",
	"0",
	"1",
	"3",
	"2147483647",
	"-1",
	"\"\"",
	"\"None\"",
	"\"All\"",
	"\"Always\"",
	"\"ExitCode\"",
	"\"Never\"",
	"\"auto\"",
	"\"gpu\"",
	"\"2\"",
	"\"AllWorkers\"",
	"\"Intel\"",
	"\"WaitForWorkersReady\"",
	"\"kueue.x-k8s.io/multikueue\"",
	"\"j-worker-1\"",
	"{}",
	"{\"a\":\"b\"}",
	"[]",
	"[{\"name\":\"v\",\"emptyDir\":{}}]",
	"[{\"name\":\"node\",\"image\":\"i\"}]",
	"[{\"key\":\"a\",\"value\":\"b\"}]",
	"[{\"name\":\"jax\",\"image\":\"i\",\"args\":[\"j-worker-0.j\"],\"env\":"
	"[{\"name\":\"RANK\",\"value\":\"1\"}],\"ports\":[{\"name\":\"jaxjob-port\","
	"\"containerPort\":1}]}]",
};
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void put(cJSON *doc, const char *path, uint8_t which)
{
	cleanup_arena struct arena arena = { 0 };
	const char *text = values[which % COUNT(values)];
	cJSON *value = NULL;
	struct error err = { 0 };

	FUZZ_CHECK(!json_parse(&value, text, strlen(text), &err));
	json_put_at(doc, (const char *const *)str_split(&arena, path, '/', NULL), value);
}

static cJSON *chosen(const uint8_t *data, size_t size)
{
	size_t k = data[0] % COUNT(kinds);
	cJSON *doc = cJSON_CreateObject(), *spec = json_obj(doc, "spec");
	cJSON *roles = json_obj_at(spec, JSON_PATH(kinds[k].specs));
	cleanup_arena struct arena arena = { 0 };

	json_put_str(doc, arena_printf(&arena, "kubeflow.org/%s", kinds[k].version),
		     "apiVersion");
	json_put_str(doc, kinds[k].kind, "kind");
	json_put_str(doc, "j", "metadata", "name");
	for (size_t i = 0; i < 3 && kinds[k].roles[i]; i++) {
		cJSON *c = cJSON_CreateObject();

		json_put_str(c, kinds[k].container, "name");
		json_put_str(c, "i", "image");
		cJSON_AddItemToArray(
			json_list_at(roles, JSON_PATH(kinds[k].roles[i], "template",
						      "spec", "containers")),
			c);
	}
	for (size_t i = 1; i + 1 < size; i += 2) {
		size_t where = data[i] % (COUNT(of_spec) + 3 * COUNT(of_role));
		const char *role;

		if (where < COUNT(of_spec)) {
			put(spec, of_spec[where], data[i + 1]);
			continue;
		}
		where -= COUNT(of_spec);
		role = kinds[k].roles[where / COUNT(of_role)];
		if (role)
			put(json_obj_at(roles, JSON_PATH(role)),
			    of_role[where % COUNT(of_role)], data[i + 1]);
	}
	return doc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };

	if (!schemas.v1) {
		schemas.ours = load("schema.json", NULL);
		schemas.v1 = load("v1.yaml", schemas.ours);
		schemas.v2beta1 = load("v2beta1.yaml", schemas.v1);
	}
	if (!size)
		return 0;
	if (json_parse(&doc, data, size, &err))
		doc = chosen(data, size);
	if (cJSON_IsArray(doc) && doc->child && doc->child->next &&
	    cJSON_IsObject(doc->child->next))
		run(doc->child, doc->child->next);
	else
		run(doc, NULL);
	return 0;
}
