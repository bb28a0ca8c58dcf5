/*
 * build.h - the pipeline on YAML, for the tests of plugins.
 *
 * A test gives the spec of a TrainJob "tj" and of a runtime "rt" and looks at
 * what comes out. Expected values follow from the rule that a test's name or
 * comment cites, never from what the program printed.
 */
#ifndef TESTS_UNIT_PLUGINS_BUILD_H
#define TESTS_UNIT_PLUGINS_BUILD_H

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "plugins/plugins.h"
#include "tests/unit/trainer/yaml_doc.h"
#include "tests/unit/unit.h"
#include "trainer/api.h"
#include "trainer/pipeline.h"

#define UNUSED __attribute__((unused))

/* One replicatedJob; `labels` is TRAINS, or a line for another role, or "". */
#define TRAINS \
	"metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},"
#define ROLE(r) \
	"metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: " r "}},"
#define RJOB(name, labels, pod) \
	"{name: " name ", template: {" labels " spec: {template: {spec: {" pod "}}}}}"
#define ONE(name)     "containers: [{name: " name ", image: i}]"
#define WITH(name, c) "containers: [{name: " name ", image: i, " c "}]"

/* A runtime of one trainer's job. */
#define RUNTIME(policy, node)                                         \
	"{mlPolicy: {" policy "}, template: {spec: {replicatedJobs: " \
	"[" RJOB("node", TRAINS, WITH("node", node)) "]}}}"
#define PLAIN_NODE "tty: false"

static inline cJSON *job(const char *spec)
{
	cJSON *tj = doc("{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob,"
			" metadata: {name: tj, namespace: ns, uid: u-1}}");

	json_put(tj, doc(spec), "spec");
	json_put(tj,
		 doc("{name: rt, kind: TrainingRuntime, apiGroup: trainer.kubeflow.org}"),
		 "spec", "runtimeRef");
	return tj;
}

static inline cJSON *runtime(const char *spec)
{
	cJSON *rt = doc("{apiVersion: trainer.kubeflow.org/v1alpha1,"
			" kind: TrainingRuntime, metadata: {name: rt, namespace: ns}}");

	json_put(rt, doc(spec), "spec");
	return rt;
}

static const struct plugin_env offline UNUSED = { .keys = &keys_placeholder };

/* The objects, or NULL and the error's text in *ret_message when that is asked for. */
static inline cJSON *build_with(const struct plugin_env *env, const cJSON *tj,
				const cJSON *rt, struct error *err)
{
	struct pipeline p = { plugins, env };
	cJSON *objects = NULL;

	if (pipeline_build(&p, tj, rt, &objects, err))
		assert_null(objects);
	return objects;
}

static inline cJSON *build(const char *tj_spec, const char *rt_spec)
{
	cleanup_json cJSON *tj = job(tj_spec);
	cleanup_json cJSON *rt = runtime(rt_spec);
	struct error err = { 0 };
	cJSON *objects = build_with(&offline, tj, rt, &err);

	if (!objects)
		fail_msg("%s: %s", tj_spec, err.msg);
	return objects;
}

static inline void assert_build_fails(const char *tj_spec, const char *rt_spec,
				      const char *words)
{
	cleanup_json cJSON *tj = job(tj_spec);
	cleanup_json cJSON *rt = runtime(rt_spec);
	struct error err = { 0 };
	cleanup_json cJSON *objects = build_with(&offline, tj, rt, &err);

	assert_null(objects);
	if (!strstr(err.msg, words))
		fail_msg("wanted \"%s\" in: %s", words, err.msg);
}

static inline const cJSON *object(const cJSON *objects, const char *kind)
{
	return json_find_const(objects, "kind", kind);
}

static inline const cJSON *rjob(const cJSON *objects, const char *name)
{
	const cJSON *jobs = json_get(object(objects, "JobSet"), "spec", "replicatedJobs");

	return json_find_const(jobs, "name", name);
}

static inline const cJSON *pod(const cJSON *objects, const char *name)
{
	return json_get(rjob(objects, name), "template", "spec", "template", "spec");
}

static inline const cJSON *container(const cJSON *objects, const char *rjob_name,
				     const char *name)
{
	const cJSON *spec = pod(objects, rjob_name);
	const cJSON *c = json_find_const(json_get(spec, "containers"), "name", name);

	return c ? c : json_find_const(json_get(spec, "initContainers"), "name", name);
}

static inline int64_t count(const cJSON *objects, const char *rjob_name)
{
	const cJSON *spec = json_get(rjob(objects, rjob_name), "template", "spec");
	int64_t n = json_int(spec, -1, "parallelism");

	assert_int_equal(n, json_int(spec, -2, "completions"));
	return n;
}

/* The variables in order, "A=1 B=2"; one with a fieldRef is "C<path". */
static inline char *env_text(const cJSON *c)
{
	struct buf out = { .max = 65536 };
	const cJSON *var;

	buf_adds(&out, "");
	json_each(var, json_get(c, "env")) {
		const char *field = json_str(var, "valueFrom", "fieldRef", "fieldPath");

		buf_printf(&out, "%s%s%s%s", out.len ? " " : "", json_str(var, "name"),
			   field ? "<" : "=", field ? field : json_str(var, "value"));
	}
	return (char *)out.data;
}

static inline void assert_env(const cJSON *c, const char *want)
{
	cleanup_free char *have = env_text(c);

	assert_string_equal(have, want);
}

#define INDEX "metadata.annotations['batch.kubernetes.io/job-completion-index']"

/* Every error of admission, a line each. */
static inline char *admission_with(const struct plugin_env *env, const cJSON *old,
				   const cJSON *tj, const cJSON *rt)
{
	struct field_errors errs = { 0 };
	struct pipeline p = { plugins, env };

	pipeline_validate(&p, old, tj, rt, &errs, NULL);
	return errors_text(&errs);
}

static inline char *admission(const char *tj_spec, const char *rt_spec)
{
	cleanup_json cJSON *tj = job(tj_spec);
	cleanup_json cJSON *rt = runtime(rt_spec);

	return admission_with(&offline, NULL, tj, rt);
}

/* `want`: how the lines begin and a word of them, "path: type|word"; NULL ends them. */
static inline void assert_errors(const char *tj_spec, const char *rt_spec,
				 const char *const *want)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *text = admission(tj_spec, rt_spec);
	size_t n, i = 0;
	char **lines = str_split(&arena, text, '\n', &n);

	for (; want[i]; i++) {
		const char *bar = strchr(want[i], '|');
		const char *head = str_slice(&arena, want[i], (size_t)(bar - want[i]));

		if (i + 1 >= n || !str_starts(lines[i], head) ||
		    !strstr(lines[i], bar + 1))
			fail_msg("%s: wanted %s, got:\n%s", tj_spec, want[i], text);
	}
	if (i + 1 != n)
		fail_msg("%s: wanted %zu errors, got:\n%s", tj_spec, i, text);
}
#define ERRORS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NO_ERRORS   ((const char *const[]){ NULL })

/* A cluster that has the objects of a list. */
static inline int cluster_get(void *ctx, const struct object_ref *ref, const cJSON **ret,
			      struct error *err)
{
	const cJSON *obj;

	*ret = NULL;
	json_each(obj, (const cJSON *)ctx)
		if (str_eq(meta_api_version(obj), ref->api_version) &&
		    str_eq(meta_kind(obj), ref->kind) &&
		    str_eq(meta_name(obj), ref->name))
			*ret = obj;
	return 0;
}

static inline struct plugin_env cluster(cJSON *objects)
{
	return (struct plugin_env){
		.keys = &keys_placeholder,
		.get = cluster_get,
		.ctx = objects,
	};
}

/* A cluster without objects that answers so many requests. */
struct failing {
	size_t answers, asked;
};

static inline int failing_get(void *ctx, const struct object_ref *ref, const cJSON **ret,
			      struct error *err)
{
	struct failing *f = ctx;

	*ret = NULL;
	if (f->asked++ < f->answers)
		return 0;
	return error_set(err, ERR_IO, "%s: no answer", ref->kind);
}

static inline struct plugin_env failing_cluster(struct failing *f)
{
	return (struct plugin_env){
		.keys = &keys_placeholder,
		.get = failing_get,
		.ctx = f,
	};
}

#endif
