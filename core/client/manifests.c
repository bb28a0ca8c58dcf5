/* manifests.c - build what `install` applies (client/manifests.h). */
#include "client/manifests.h"

#include <string.h>

#include "api/meta.h"
#include "api/names.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/yaml.h"
#include "spec/catalog.h"
#include "spec/input.h"
#include "spec/job_opts.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"

#define PUBLIC_CONFIG   "kubeflow-trainer-public"

#define CACHE_REVIEWERS "kubeflow-trainer-cache-token-review"

#define RUNTIMES_JOB    "kubeflow-trainer-runtimes-installer"
#define RUNTIME_LABEL   "--runtime-label"
#define COMPONENT_LABEL "app.kubernetes.io/component"

/* Requires LeaderWorkerSet, and rights in each namespace (cache_namespaces). */
static const char *const left_out[] = { "torch-distributed-with-cache", NULL };

const cJSON *manifests_pod_selector(const cJSON *deployment)
{
	return json_get(deployment, "spec", "selector");
}

bool manifests_deployment_done(const cJSON *d)
{
	int64_t wanted = json_int(d, 1, "spec", "replicas");

	return json_int(d, 0, "status", "observedGeneration") >=
		       json_int(d, 0, "metadata", "generation") &&
	       json_int(d, 0, "status", "updatedReplicas") >= wanted &&
	       json_int(d, 0, "status", "availableReplicas") >= wanted &&
	       json_int(d, 0, "status", "replicas") == wanted;
}

bool manifests_crd_established(const cJSON *crd)
{
	const cJSON *c = json_find_const(json_get(crd, "status", "conditions"), "type",
					 "Established");

	return str_eq(json_str(c, "status"), "True");
}

/* A registry has a '.' or a ':' in it, or is "localhost"; else it is Docker Hub's. */
char *manifests_image(struct arena *arena, const char *image, const char *registry)
{
	size_t first = strcspn(image, "/"), end = strlen(registry);
	const char *host = str_slice(arena, image, first);

	if (image[first] && (strpbrk(host, ".:") || str_eq(host, "localhost")))
		image += first + 1;
	while (end && registry[end - 1] == '/')
		end--;
	return arena_printf(arena, "%.*s/%s", (int)end, registry, image);
}

static void each_string(cJSON *doc, const char *key,
			void (*change)(cJSON *node, const struct manifests_opts *opts),
			const struct manifests_opts *opts)
{
	cJSON *node;

	if (cJSON_IsString(doc) && (!key || str_eq(doc->string, key)))
		change(doc, opts);
	json_each(node, doc)
		each_string(node, key, change, opts);
}

static void change_namespace(cJSON *node, const struct manifests_opts *opts)
{
	if (str_eq(node->valuestring, INSTALL_NAMESPACE))
		cJSON_SetValuestring(node, opts->ns);
}

/* Replace the registry, except in opts->image, which is used as given. */
static void change_image(cJSON *node, const struct manifests_opts *opts)
{
	cleanup_arena struct arena arena = { 0 };

	if (!opts->image || !str_eq(node->valuestring, opts->image))
		cJSON_SetValuestring(
			node, manifests_image(&arena, node->valuestring, opts->registry));
}

/* Replace the namespace wherever an expression contains it. */
static void change_expression(cJSON *node, const struct manifests_opts *opts)
{
	cleanup_buf struct buf text = { .max = 16384 };
	const char *p = node->valuestring, *at;

	while ((at = strstr(p, INSTALL_NAMESPACE))) {
		buf_add(&text, p, (size_t)(at - p));
		buf_adds(&text, opts->ns);
		p = at + strlen(INSTALL_NAMESPACE);
	}
	buf_adds(&text, p);
	cJSON_SetValuestring(node, (const char *)text.data);
}

static void apply_opts(cJSON *doc, const struct manifests_opts *opts)
{
	if (opts->ns) {
		each_string(doc, NULL, change_namespace, opts);
		each_string(doc, "expression", change_expression, opts);
	}
	if (opts->registry)
		each_string(doc, "image", change_image, opts);
}

/* The image of the cache that the runtime's initializer creates. */
static void set_cache_image(cJSON *runtime, const struct manifests_opts *opts)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *job, *c;

	json_each(job, (cJSON *)runtime_jobs(runtime)) {
		const char *image;

		c = pod_container(rjob_pod_spec(job), DATASET_INITIALIZER);
		image = podspec_env_value(container_env(c), "CACHE_IMAGE");
		if (!image)
			continue;
		if (opts->cache_image)
			image = opts->cache_image;
		else if (opts->registry)
			image = manifests_image(&arena, image, opts->registry);
		container_set_env(c, "CACHE_IMAGE", arena_strdup(&arena, image));
	}
}

/* The pairs are valid (check_labels()). */
static void set_labels(cJSON *runtime, const struct opt_strs *labels)
{
	cleanup_arena struct arena arena = { 0 };
	const char *key, *value;

	for (size_t i = 0; i < labels->n; i++)
		if (!job_pair(&arena, "", labels->list[i], &key, &value, IGNORED))
			meta_set_label(runtime, key, value);
}

static int check_labels(const struct opt_strs *labels, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *key, *value, *why;

	for (size_t i = 0; i < labels->n; i++) {
		if (job_pair(&arena, RUNTIME_LABEL, labels->list[i], &key, &value, err))
			return -1;
		why = name_key_invalid(key);
		if (!why)
			why = name_value_invalid(value);
		if (why)
			return error_set(err, ERR_USAGE,
					 RUNTIME_LABEL ": invalid label '%s': %s",
					 labels->list[i], why);
	}
	return 0;
}

static const char *image_of(const struct manifests_opts *opts)
{
	return opts->image ? opts->image : INSTALL_IMAGE;
}

static void add_arg(cJSON *args, const char *option, const char *value)
{
	cleanup_arena struct arena arena = { 0 };

	cJSON_AddItemToArray(
		args, cJSON_CreateString(arena_printf(&arena, "%s%s", option, value)));
}

static void set_deployment(cJSON *doc, const struct manifests_opts *opts)
{
	cJSON *c = json_get(doc, "spec", "template", "spec", "containers")->child;

	container_set_image(c, image_of(opts));
	if (opts->pull_policy)
		json_put_str(c, opts->pull_policy, "imagePullPolicy");
	if (opts->replicas)
		json_put_int(doc, opts->replicas, "spec", "replicas");
	if (opts->gates)
		add_arg(json_list(c, "args"), "--feature-gates=", opts->gates);
}

/* The Job's command line builds the same runtimes as `opts` do here. */
static void set_runtimes_job(cJSON *doc, const struct manifests_opts *opts)
{
	cJSON *c = json_get(doc, "spec", "template", "spec", "containers")->child;
	cJSON *args = json_list(c, "args");

	json_put_str(doc, RUNTIMES_JOB "-" VERSION, "metadata", "name");
	container_set_image(c, image_of(opts));
	if (opts->pull_policy)
		json_put_str(c, opts->pull_policy, "imagePullPolicy");
	add_arg(args, "--image=", image_of(opts));
	if (opts->registry)
		add_arg(args, "--image-registry=", opts->registry);
	if (opts->upstream_images)
		add_arg(args, "--upstream-images", "");
	for (size_t i = 0; i < opts->runtimes.n; i++)
		add_arg(args, "--runtime=", opts->runtimes.list[i]);
	for (size_t i = 0; i < opts->runtime_labels.n; i++)
		add_arg(args, RUNTIME_LABEL "=", opts->runtime_labels.list[i]);
	if (opts->cache_image)
		add_arg(args, "--cache-image=", opts->cache_image);
}

static void set_version(cJSON *doc, const struct manifests_opts *opts)
{
	json_put_str(doc, "v" VERSION "+kftrainer", "data", "kubeflow_trainer_version");
}

/* Bind the group of all ServiceAccounts of each cache namespace. */
static void set_reviewers(cJSON *doc, const struct manifests_opts *opts)
{
	const cJSON *one = cJSON_GetArrayItem(json_get(doc, "subjects"), 0);
	cleanup_arena struct arena arena = { 0 };
	cJSON *subjects = cJSON_CreateArray();

	for (size_t i = 0; i < opts->cache_namespaces.n; i++) {
		cJSON *subject = json_dup(one);

		json_put_str(subject,
			     arena_printf(&arena, "system:serviceaccounts:%s",
					  opts->cache_namespaces.list[i]),
			     "name");
		cJSON_AddItemToArray(subjects, subject);
	}
	json_put(doc, subjects, "subjects");
}

static void set_object(cJSON *doc, const struct manifests_opts *opts)
{
	static const struct {
		const char *kind, *name;
		void (*set)(cJSON *doc, const struct manifests_opts *opts);
	} rules[] = {
		{ "Deployment", INSTALL_DEPLOYMENT, set_deployment },
		{ "ConfigMap", PUBLIC_CONFIG, set_version },
		{ "Job", RUNTIMES_JOB, set_runtimes_job },
		{ "ClusterRoleBinding", CACHE_REVIEWERS, set_reviewers },
	};

	for (size_t i = 0; i < N_ELEMENTS(rules); i++)
		if (str_eq(meta_kind(doc), rules[i].kind) &&
		    str_eq(meta_name(doc), rules[i].name))
			rules[i].set(doc, opts);
	meta_set_label(doc, "app.kubernetes.io/name", "trainer");
	if (!meta_label(doc, COMPONENT_LABEL))
		meta_set_label(doc, COMPONENT_LABEL, "manager");
	meta_set_label(doc, INSTALL_PART_OF, "kubeflow");
	meta_set_label(doc, INSTALL_MANAGED_BY, "kftrainer");
}

static int read_file(cJSON **ret, const char *file, struct error *err)
{
	const struct asset *asset = asset_find(file);

	if (!asset || yaml_parse(ret, asset->data, asset->len, err))
		return error_wrap(err, "%s inside this binary", file);
	return 0;
}

static int add_file(cJSON *list, const char *file, const struct manifests_opts *opts,
		    struct error *err)
{
	cleanup_json cJSON *docs = NULL;
	cJSON *doc;

	if (read_file(&docs, file, err))
		return -1;
	while ((doc = docs->child)) {
		cJSON_DetachItemViaPointer(docs, doc);
		set_object(doc, opts);
		apply_opts(doc, opts);
		cJSON_AddItemToArray(list, doc);
	}
	return 0;
}

static int add_controller(cJSON *list, const struct manifests_opts *opts,
			  struct error *err)
{
	/* Webhooks come before the pods, which write their CA into them at startup. */
	static const struct {
		const char *file;
		bool strict; /* only with opts->strict */
	} files[] = {
		{ "manifests/access.yaml", false },  { "manifests/strict.yaml", true },
		{ "manifests/config.yaml", false },  { "manifests/webhooks.yaml", false },
		{ "manifests/manager.yaml", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(files); i++)
		if ((!files[i].strict || opts->strict) &&
		    add_file(list, files[i].file, opts, err))
			return -1;
	return 0;
}

static void add_cache_doc(cJSON *list, const cJSON *doc, const char *ns,
			  const struct manifests_opts *opts)
{
	cJSON *copy = json_dup(doc), *subject;

	set_object(copy, opts);
	if (ns) {
		meta_set_namespace(copy, ns);
		json_each(subject, json_get(copy, "subjects"))
			json_put_str(subject, ns, "namespace");
	}
	cJSON_AddItemToArray(list, copy);
}

/* Add the namespaced objects once for each cache namespace, the others once. */
static int add_cache(cJSON *list, const struct manifests_opts *opts, struct error *err)
{
	cleanup_json cJSON *docs = NULL;
	const cJSON *doc;

	if (!opts->cache_namespaces.n)
		return opts->cache_token_review ? error_set(err, ERR_USAGE,
							    "--cache-token-review "
							    "requires --cache-namespace")
						: 0;
	if (read_file(&docs, "manifests/cache.yaml", err))
		return -1;
	json_each(doc, docs) {
		if (!meta_namespace(doc))
			add_cache_doc(list, doc, NULL, opts);
		for (size_t i = 0; meta_namespace(doc) && i < opts->cache_namespaces.n;
		     i++)
			add_cache_doc(list, doc, opts->cache_namespaces.list[i], opts);
	}
	return opts->cache_token_review
		       ? add_file(list, "manifests/cache-tokens.yaml", opts, err)
		       : 0;
}

/*
 * Run the containers that download with our image: by args, which upstream's images
 * ignore if they are put back. As root, like upstream's: most provisioners create volumes
 * that belong to root, so that our image's own user could not write there.
 */
static void use_our_initializers(cJSON *runtime, const char *image)
{
	static const struct {
		const char *container, *command;
	} ours[] = {
		{ DATASET_INITIALIZER, "initialize-dataset" },
		{ MODEL_INITIALIZER, "initialize-model" },
	};
	cJSON *job, *c;

	json_each(job, (cJSON *)runtime_jobs(runtime)) {
		for (size_t i = 0; i < N_ELEMENTS(ours); i++) {
			c = pod_container(rjob_pod_spec(job), ours[i].container);
			if (!c || !str_eq(rjob_ancestor(job), ours[i].container))
				continue;
			cleanup_json cJSON *args = cJSON_CreateArray();
			cJSON_AddItemToArray(args, cJSON_CreateString(ours[i].command));
			container_set_image(c, image);
			container_set_args(c, args);
			json_put_int(c, 0, "securityContext", "runAsUser");
		}
	}
}

/* Set our image, as upstream has none. false: the runtime makes no data cache. */
static bool use_our_cache(cJSON *runtime, const char *image)
{
	cJSON *job, *c;

	if (!json_get(runtime_annotations(runtime), CACHE_ANNOTATION))
		return false;
	json_each(job, (cJSON *)runtime_jobs(runtime)) {
		c = pod_container(rjob_pod_spec(job), DATASET_INITIALIZER);
		if (c && str_eq(rjob_ancestor(job), DATASET_INITIALIZER))
			container_set_image(c, image);
	}
	return true;
}

static void add_runtime(cJSON *list, cJSON *take_runtime,
			const struct manifests_opts *opts)
{
	if (!use_our_cache(take_runtime, image_of(opts)) && !opts->upstream_images)
		use_our_initializers(take_runtime, image_of(opts));
	apply_opts(take_runtime, opts);
	set_cache_image(take_runtime, opts);
	set_labels(take_runtime, &opts->runtime_labels);
	cJSON_AddItemToArray(list, take_runtime);
}

/* Add the runtime "NAME" or "NAME=IMAGE", the image of its training containers. */
static int add_runtime_of(cJSON *list, const struct schema *schema, const char *text,
			  const struct manifests_opts *opts, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_input struct input none = { 0 };
	size_t len = strcspn(text, "=");
	cJSON *runtime, *job, *c;

	if (runtime_by_name(&runtime, &none, NULL, schema, str_slice(&arena, text, len),
			    err)) {
		err->kind = ERR_USAGE;
		return -1;
	}
	json_each(job, (cJSON *)runtime_jobs(runtime)) {
		c = pod_container(rjob_pod_spec(job), NODE);
		if (c && text[len])
			container_set_image(c, text + len + 1);
	}
	add_runtime(list, runtime, opts);
	return 0;
}

static int add_runtimes(cJSON *list, const struct schema *schema,
			const struct manifests_opts *opts, struct error *err)
{
	cleanup_input struct input none = { 0 };
	cleanup_json cJSON *all = NULL;
	cJSON *runtime;

	for (size_t i = 0; i < opts->runtimes.n; i++)
		if (add_runtime_of(list, schema, opts->runtimes.list[i], opts, err))
			return -1;
	if (opts->runtimes.n)
		return 0;
	if (runtime_all(&all, &none, NULL, schema, err))
		return -1;
	while ((runtime = all->child)) {
		cJSON_DetachItemViaPointer(all, runtime);
		if (str_in(meta_name(runtime), left_out))
			cJSON_Delete(runtime);
		else
			add_runtime(list, runtime, opts);
	}
	return 0;
}

int manifests_build(cJSON **ret, const struct schema *schema,
		    const struct manifests_opts *opts, struct error *err)
{
	static const char *const kinds[] = { TRAINJOB_KIND, RUNTIME_KIND,
					     CLUSTER_RUNTIME_KIND };
	cleanup_json cJSON *list = cJSON_CreateArray();

	if (check_labels(&opts->runtime_labels, err))
		return -1;
	if (opts->parts & INSTALL_CRDS)
		for (size_t i = 0; i < N_ELEMENTS(kinds); i++)
			cJSON_AddItemToArray(list, schema_crd(schema, kinds[i]));
	if (opts->parts & INSTALL_CONTROLLER && add_controller(list, opts, err))
		return -1;
	if (add_cache(list, opts, err))
		return -1;
	if (opts->parts & INSTALL_RUNTIMES && add_runtimes(list, schema, opts, err))
		return -1;
	if (opts->parts & INSTALL_RUNTIMES_JOB &&
	    add_file(list, "manifests/runtimes-job.yaml", opts, err))
		return -1;
	*ret = STEAL(list);
	return 0;
}
