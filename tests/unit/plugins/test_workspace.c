/* What a TrainJob with a workspace waits for; what is built is in tests/golden/own/workspace-*. */
#include "tests/unit/plugins/build.h"
#include "trainer/supervise_spec.h"
#include "trainer/workspace_spec.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A cluster of one JobSet and one ConfigMap, or NULL. */
struct cluster {
	const cJSON *jobset, *map;
	const char *asked; /* the last ConfigMap's name */
	struct arena arena;
};

static int get(void *ctx, const struct object_ref *ref, const cJSON **ret,
	       struct error *err)
{
	struct cluster *c = ctx;

	*ret = NULL;
	if (str_eq(ref->kind, "JobSet"))
		*ret = c->jobset;
	if (str_eq(ref->kind, "ConfigMap")) {
		c->asked = arena_strdup(&c->arena, ref->name);
		*ret = c->map;
	}
	return 0;
}

TEST(test_what_is_waited_for)
{
	static const struct {
		const char *name, *spec, *uri;
		bool map, running, paused; /* there is a JobSet that runs, is suspended */
		bool waits;
	} rows[] = {
		{ "it is there", "{}", NULL, true, false, false, false },
		{ "it is not", "{}", NULL, false, false, false, true },
		{ "suspended: no hurry", "{suspend: true}", NULL, false, false, false,
		  false },
		{ "what runs is left alone", "{}", NULL, false, true, false, false },
		{ "resumed without", "{}", NULL, false, false, true, true },
		{ "at a place", "{}", "s3://b/k", false, false, false, false },
	};
	cleanup_json cJSON *running = doc("{spec: {suspend: false}}");
	cleanup_json cJSON *paused = doc("{spec: {suspend: true}}");
	cleanup_json cJSON *map = doc("{kind: ConfigMap}");
	cleanup_json cJSON *rt = runtime(RUNTIME("torch: {}", PLAIN_NODE));

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct cluster c = { .jobset = rows[i].running  ? running
					       : rows[i].paused ? paused
								: NULL,
				     .map = rows[i].map ? map : NULL };
		const struct plugin_env env = { .keys = &keys_placeholder,
						.get = get,
						.ctx = &c };
		const struct workspace w = { .digest = DIGEST, .uri = rows[i].uri };
		cleanup_json cJSON *tj = job(rows[i].spec);
		cleanup_json cJSON *objects = NULL;
		struct error err = { 0 };

		workspace_annotate(tj, &w);
		objects = build_with(&env, tj, rt, &err);
		if (!objects != rows[i].waits)
			fail_msg("%s: %s", rows[i].name, err.msg);
		if (rows[i].waits)
			assert_non_null(strstr(err.msg, "tj-workspace-0123456789ab"));
		if (c.asked)
			assert_string_equal(c.asked, "tj-workspace-0123456789ab");
		arena_clear(&c.arena);
	}
}

/* The Secret is that of the place: what is at hand in a ConfigMap takes none. */
TEST(test_the_secret)
{
	static const struct {
		const char *uri, *secret;
		bool there;
	} rows[] = {
		{ "s3://b/k", "s3", true },
		{ "s3://b/k", NULL, false },
		{ NULL, "s3", false },
	};
	cleanup_json cJSON *rt = runtime(RUNTIME("torch: {}", PLAIN_NODE));

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct workspace w = { .digest = DIGEST,
					     .uri = rows[i].uri,
					     .secret = rows[i].secret };
		cleanup_json cJSON *tj = job("{}");
		cleanup_json cJSON *objects = NULL;
		struct error err = { 0 };

		workspace_annotate(tj, &w);
		objects = build_with(&offline, tj, rt, &err);
		if (!objects)
			fail_msg("row %zu: %s", i, err.msg);
		assert_true(
			rows[i].there ==
			!!json_get(container(objects, "node", "workspace"), "envFrom"));
	}
}

TEST(test_our_image)
{
	const struct plugin_env env = { .image = "registry.example/ours@sha256:1" };
	const struct workspace w = { .digest = DIGEST };
	cleanup_json cJSON *rt = runtime(RUNTIME("torch: {}", PLAIN_NODE));
	cleanup_json cJSON *tj = job("{}");
	cleanup_json cJSON *named = NULL;
	cleanup_json cJSON *unnamed = NULL;
	struct error err = { 0 };

	workspace_annotate(tj, &w);
	named = build_with(&env, tj, rt, &err);
	unnamed = build_with(&offline, tj, rt, &err);
	assert_string_equal(json_str(container(named, "node", "workspace"), "image"),
			    "registry.example/ours@sha256:1");
	assert_string_equal(json_str(container(unnamed, "node", "workspace"), "image"),
			    "kftrainer:" VERSION);
}

/* A strict namespace refuses a pod of which any container may run as root. */
TEST(test_the_user_of_the_container)
{
	static const char *const ours[] = { "workspace", "kftrainer" };
	const struct workspace w = { .digest = DIGEST };
	cleanup_json cJSON *rt = runtime(RUNTIME(
		"torch: {}", "securityContext: {runAsUser: 7, runAsNonRoot: true, "
			     "privileged: true, capabilities: {add: [NET_ADMIN]}}"));
	cleanup_json cJSON *tj = job("{trainer: {command: [a]}}");
	cleanup_json cJSON *objects = NULL;
	struct error err = { 0 };

	workspace_annotate(tj, &w);
	meta_set_annotation(tj, SUPERVISE_ANNOTATION, "true");
	objects = build_with(&offline, tj, rt, &err);
	if (!objects)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < N_ELEMENTS(ours); i++)
		assert_doc(
			json_get(container(objects, "node", ours[i]), "securityContext"),
			"{allowPrivilegeEscalation: false, capabilities: {drop: "
			"[ALL]}, seccompProfile: {type: RuntimeDefault}, runAsUser: "
			"7, runAsNonRoot: true}");
}

TEST(test_a_container_of_that_name)
{
	const struct workspace w = { .digest = DIGEST };
	cleanup_json cJSON *rt = runtime(
		"{mlPolicy: {torch: {}}, template: {spec: {replicatedJobs: [" RJOB(
			"node", TRAINS,
			"initContainers: [{name: workspace, image: i}], " ONE(
				"node")) "]}}}");
	cleanup_json cJSON *tj = job("{}");
	cleanup_json cJSON *objects = NULL;
	struct error err = { 0 };

	workspace_annotate(tj, &w);
	objects = build_with(&offline, tj, rt, &err);
	assert_null(objects);
	assert_non_null(strstr(err.msg, "a container \"workspace\" of its own"));
}

TEST(test_annotations)
{
	static const struct {
		const char *value, *from;
		bool fine;
	} rows[] = {
		{ NULL, NULL, true },
		{ NULL, "file:///x", true }, /* nothing says that there is a workspace */
		{ "sha256:" DIGEST, NULL, true },
		{ "sha256:" DIGEST, "s3://b/k", true },
		{ "sha256:" DIGEST, "hf://o/n/f", true },
		{ "sha256:" DIGEST, "file:///etc/passwd", false },
		{ "sha256:" DIGEST, "", false },
		{ DIGEST, NULL, false },
		{ "sha256:" DIGEST "0", NULL, false },
		{ "sha256:0123", NULL, false },
		{ "", NULL, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *tj = job("{}");
		struct error err = { 0 };
		struct workspace w;

		if (rows[i].value)
			meta_set_annotation(tj, WORKSPACE_ANNOTATION, rows[i].value);
		if (rows[i].from)
			meta_set_annotation(tj, WORKSPACE_FROM_ANNOTATION, rows[i].from);
		if (workspace_of(&w, tj, &err) != (rows[i].fine ? 0 : -1))
			fail_msg("row %zu: %s", i, err.msg);
		assert_true(!w.digest == !(rows[i].fine && rows[i].value));
	}
}

TEST(test_a_long_place)
{
	char uri[2048 + 2];
	struct workspace w;
	struct error err = { 0 };

	for (size_t len = 2048; len <= 2049; len++) {
		cleanup_json cJSON *tj = job("{}");

		memset(uri, 'k', sizeof(uri));
		memcpy(uri, "s3://b/", 7);
		uri[len] = '\0';
		meta_set_annotation(tj, WORKSPACE_ANNOTATION, "sha256:" DIGEST);
		meta_set_annotation(tj, WORKSPACE_FROM_ANNOTATION, uri);
		assert_int_equal(workspace_of(&w, tj, &err), len > 2048 ? -1 : 0);
	}
	assert_non_null(strstr(err.msg, "more than 2048 bytes"));
}

TEST(test_the_configmap)
{
	cleanup_json cJSON *tj = job("{}");
	cleanup_json cJSON *map = workspace_configmap(tj, DIGEST, "\x01\x02\x03\x04", 4);

	assert_doc(map, "{apiVersion: v1, kind: ConfigMap, metadata: {name: "
			"tj-workspace-0123456789ab, namespace: ns, annotations: {"
			"kftrainer.io/workspace: 'sha256:" DIGEST "'}, ownerReferences: "
			"[{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, "
			"name: tj, uid: u-1, controller: true}]}, immutable: true, "
			"binaryData: {workspace.tar.zst: AQIDBA==}}");
}

/* The JobSet of a job with a workspace, one of whose jobs does not train, and an object. */
static cJSON *objects_of(void)
{
	const struct workspace w = { .digest = DIGEST };
	cleanup_json cJSON *tj = job("{}");
	cleanup_json cJSON *rt = runtime(
		"{mlPolicy: {torch: {}}, template: {spec: {replicatedJobs: [" RJOB(
			"node", TRAINS, ONE("node")) ", " RJOB("side", "",
							       ONE("node")) "]}}}");
	struct error err = { 0 };
	cJSON *objects;

	workspace_annotate(tj, &w);
	objects = build_with(&offline, tj, rt, &err);
	if (!objects)
		fail_msg("%s", err.msg);
	cJSON_InsertItemInArray(objects, 0, doc("{kind: Service, spec: {}}"));
	return objects;
}

TEST(test_on_this_machine)
{
	cleanup_json cJSON *objects = objects_of();
	cleanup_json cJSON *before = json_dup(objects);
	const cJSON *c, *volumes;

	workspace_bind_local(objects, "/usr/bin/kftrainer", "/tmp/archive");
	c = container(objects, "node", "workspace");
	assert_doc(json_get(c, "command"), "[/usr/bin/kftrainer]");
	assert_doc(json_get(c, "args"),
		   "[runtime, unpack-workspace, --from, "
		   "/mnt/workspace-archive/workspace.tar.zst, --sha256, '" DIGEST
		   "', --to, /mnt/workspace, --quiet]");
	assert_non_null(
		json_get(container(before, "node", "workspace"), "securityContext"));
	assert_null(json_get(c, "securityContext"));
	volumes = json_get(pod(objects, "node"), "volumes");
	assert_doc(json_find_const(volumes, "name", WORKSPACE_ARCHIVE),
		   "{name: kftrainer-workspace-archive, hostPath: {path: /tmp/archive, "
		   "type: Directory}}");
	assert_null(container(objects, "side", "workspace"));
	assert_true(json_equal(pod(objects, "side"), pod(before, "side")));
}

TEST(test_in_the_store_of_this_machines_api)
{
	static const char *const want[] = {
		"configMap: {name: tj-workspace-0123456789ab}",
		"hostPath: {path: /api/workspaces/" DIGEST ", type: Directory}",
	};

	for (int stored = 0; stored < 2; stored++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *objects = objects_of(), *tj = job("{}");

		cJSON_AddItemToArray(
			objects, workspace_configmap(tj, DIGEST, stored ? NULL : "x", 1));
		workspace_bind_stored(objects, "/usr/bin/kftrainer", "/api");
		assert_doc(json_get(container(objects, "node", "workspace"), "command"),
			   "[/usr/bin/kftrainer]");
		assert_doc(json_find_const(json_get(pod(objects, "node"), "volumes"),
					   "name", WORKSPACE_ARCHIVE),
			   arena_printf(&arena, "{name: kftrainer-workspace-archive, %s}",
					want[stored]));
	}
}

TEST(test_the_store_that_is_announced)
{
	static const struct {
		const char *text, *dir, *key;
	} rows[] = {
		{ "k /a/b c", "/a/b c", "k" },
		{ "k a", NULL, NULL },
		{ " /a", NULL, NULL },
		{ "k", NULL, NULL },
		{ "", NULL, NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *tj = cJSON_CreateObject();
		const char *key = NULL, *dir;

		meta_set_annotation(tj, WORKSPACE_STORE_ANNOTATION, rows[i].text);
		dir = workspace_store(&arena, tj, &key);
		if (!rows[i].dir) {
			assert_null(dir);
			continue;
		}
		assert_string_equal(dir, rows[i].dir);
		assert_string_equal(key, rows[i].key);
	}
}

TEST(test_where_nothing_can_be_mounted)
{
	cleanup_json cJSON *objects = objects_of();
	cleanup_json cJSON *before = json_dup(objects);
	const cJSON *c;

	assert_string_equal(json_str(container(objects, "node", "node"), "workingDir"),
			    WORKSPACE_PATH);
	workspace_bind_shared(objects, "/tmp/unpacked");
	c = container(objects, "node", "node");
	assert_null(container(objects, "node", "workspace"));
	assert_string_equal(json_str(c, "workingDir"), "/tmp/unpacked");
	assert_null(
		json_find_const(json_get(c, "volumeMounts"), "name", WORKSPACE_VOLUME));
	assert_null(json_find_const(json_get(pod(objects, "node"), "volumes"), "name",
				    WORKSPACE_VOLUME));
	assert_null(json_find_const(json_get(pod(objects, "node"), "volumes"), "name",
				    WORKSPACE_ARCHIVE));
	assert_true(json_equal(pod(objects, "side"), pod(before, "side")));
}

TEST(test_what_unpacks)
{
	const struct workspace w = { .digest = DIGEST, .uri = "s3://b/k" };
	cleanup_json cJSON *args = workspace_unpack_args(&w);

	assert_doc(args,
		   "[runtime, unpack-workspace, --from, 's3://b/k', --sha256, '" DIGEST
		   "', --to, /mnt/workspace, --download, "
		   "/mnt/workspace-archive]");
}

/* The webhook marks TrainJobs with a workspace, a client takes the mark away again. */
TEST(test_who_serves)
{
	const struct workspace w = { .digest = DIGEST, .uri = "s3://b/k", .secret = "s" };
	const struct workspace none = { 0 };
	cleanup_json cJSON *tj = job("{}");

	workspace_served(tj);
	assert_false(workspace_is_served(tj));
	workspace_annotate(tj, &w);
	workspace_served(tj);
	assert_true(workspace_is_served(tj));
	assert_doc(json_get(tj, "metadata", "annotations"),
		   "{kftrainer.io/workspace: 'sha256:" DIGEST
		   "', kftrainer.io/workspace-from: 's3://b/k', "
		   "kftrainer.io/workspace-secret: s, "
		   "kftrainer.io/workspace-served: kftrainer}");
	meta_set_annotation(tj, WORKSPACE_AWAITED_ANNOTATION, "false");
	workspace_annotate(tj, &w);
	assert_false(workspace_is_served(tj));
	assert_null(meta_annotation(tj, WORKSPACE_AWAITED_ANNOTATION));
	workspace_annotate(tj, &none);
	assert_int_equal(cJSON_GetArraySize(json_get(tj, "metadata", "annotations")), 0);
}

/* The first request is for the JobSet, the second for the ConfigMap. */
TEST(test_a_cluster_that_does_not_answer)
{
	const struct workspace w = { .digest = DIGEST };
	cleanup_json cJSON *rt = runtime(RUNTIME("torch: {}", PLAIN_NODE));
	cleanup_json cJSON *tj = job("{}");

	workspace_annotate(tj, &w);
	for (size_t i = 0; i < 2; i++) {
		struct failing cluster = { .answers = i };
		const struct plugin_env env = failing_cluster(&cluster);
		struct error err = { 0 };
		cleanup_json cJSON *objects = build_with(&env, tj, rt, &err);

		assert_null(objects);
		assert_non_null(strstr(err.msg,
				       i ? "ConfigMap: no answer" : "JobSet: no answer"));
	}
}

TEST(test_an_annotation_that_is_wrong)
{
	cleanup_json cJSON *rt = runtime(RUNTIME("torch: {}", PLAIN_NODE));
	cleanup_json cJSON *tj = job("{}");
	cleanup_json cJSON *objects = NULL;
	struct error err = { 0 };

	meta_set_annotation(tj, WORKSPACE_ANNOTATION, "sha256:0");
	objects = build_with(&offline, tj, rt, &err);
	assert_null(objects);
	assert_non_null(strstr(err.msg, WORKSPACE_ANNOTATION));
}

RUN_TESTS(NULL, NULL)
