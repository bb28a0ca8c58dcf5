/* job.c - check, resolve and build the TrainJobs of files and options (spec/job.h). */
#include "spec/job.h"

#include <stdio.h>

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "api/meta.h"
#include "api/quantity.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "plugins/plugins.h"
#include "spec/jobenv.h"
#include "spec/reporter.h"
#include "spec/script.h"
#include "spec/worktree.h"
#include "trainer/api.h"
#include "trainer/export_spec.h"
#include "trainer/launcher.h"
#include "trainer/pipeline.h"
#include "trainer/run_spec.h"
#include "trainer/runtime.h"
#include "trainer/supervise_spec.h"
#include "trainer/track_spec.h"
#include "trainer/trainjob.h"
#include "trainer/validation.h"
#include "trainer/workspace_spec.h"

#define DEFAULT_NAMESPACE "default"

enum { MAX_KINDS = 4 }; /* named in an error */

/*
 * The API server appends five random characters to metadata.generateName. A dry run
 * appends always the same ones, so that its output is reproducible.
 */
static const char *generate_name(struct arena *arena, const char *base, bool unique)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	unsigned char bytes[5] = { 0 };
	char end[sizeof(bytes) + 1] = "xxxxx";

	if (unique && getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes))
		for (size_t i = 0; i < sizeof(bytes); i++)
			end[i] = letters[bytes[i] % (sizeof(letters) - 1)];
	return arena_printf(arena, "%s%s", base, end);
}

static void set_name(struct job_set *set, cJSON *job, const struct job_opts *opts,
		     enum job_names names)
{
	const char *base;

	if (opts->name)
		meta_set_name(job, opts->name);
	else if (opts->generate_name)
		meta_set_generate_name(job, opts->generate_name);
	base = meta_generate_name(job);
	if (!meta_name(job) && base && names != NAMES_LATER)
		meta_set_name(job, generate_name(&set->input.arena, base,
						 names == NAMES_RANDOM));
}

/* The pairs are valid (check_pairs()). The schema reports a member that is not a map. */
static void set_pairs(cJSON *job, const char *map, const struct opt_strs *pairs,
		      void (*set)(cJSON *obj, const char *key, const char *value))
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *pairs_given = json_get(job, "metadata", map);
	const char *key, *value;
	struct error err;

	for (size_t i = 0; i < pairs->n && (!pairs_given || cJSON_IsObject(pairs_given));
	     i++)
		if (!job_pair(&arena, map, pairs->list[i], &key, &value, &err))
			set(job, key, value);
}

static const char *namespace_of(const struct job_opts *opts)
{
	return opts->ns           ? opts->ns
	       : opts->default_ns ? opts->default_ns
				  : DEFAULT_NAMESPACE;
}

static void set_run_dir(cJSON *job, const struct job_opts *opts)
{
	char text[32];

	if (opts->run_dir)
		meta_set_annotation(job, RUN_DIR_ANNOTATION, opts->run_dir);
	snprintf(text, sizeof(text), "%lld", (long long)opts->keep);
	if (opts->keep)
		meta_set_annotation(job, RUN_KEEP_ANNOTATION, text);
}

static void set_export(cJSON *job, const struct job_opts *opts, struct arena *arena)
{
	const struct job_export *o = &opts->export;
	const struct {
		const char *key, *value;
	} list[] = {
		{ EXPORT_ANNOTATION, o->uri },
		{ REGISTER_ANNOTATION, o->registry },
		{ REGISTER_MODEL_ANNOTATION, o->model },
		{ REGISTER_VERSION_ANNOTATION, o->version },
		{ REGISTER_DESCRIPTION_ANNOTATION, o->description },
		{ REGISTER_PROPERTIES_ANNOTATION,
		  o->properties.n ? str_join(arena, o->properties.list, "\n") : NULL },
	};
	const char *commit;

	for (size_t i = 0; i < N_ELEMENTS(list); i++)
		if (list[i].value)
			meta_set_annotation(job, list[i].key, list[i].value);
	commit = opts->worktree && meta_annotation(job, EXPORT_ANNOTATION)
			 ? worktree_commit(arena, opts->worktree)
			 : NULL;
	if (commit)
		meta_set_annotation(job, COMMIT_ANNOTATION, commit);
}

/* Apply the options that override the file. */
static void override_job(struct job_set *set, struct doc *doc,
			 const struct job_opts *opts, enum job_names names)
{
	const char *ns = meta_namespace(doc->obj);

	if (!cJSON_IsObject(json_get(doc->obj, "metadata")))
		return; /* the schema reports it */
	set_name(set, doc->obj, opts, names);
	set_pairs(doc->obj, "labels", &opts->labels, meta_set_label);
	set_pairs(doc->obj, "annotations", &opts->annotations, meta_set_annotation);
	job_override(doc->obj, opts, set->env);
	supervise_annotate(doc->obj, opts->supervise, opts->restarts);
	if (opts->track)
		meta_set_annotation(doc->obj, TRACK_ANNOTATION, opts->track);
	set_run_dir(doc->obj, opts);
	set_export(doc->obj, opts, &set->input.arena);
	if (opts->workspace)
		workspace_annotate(doc->obj, opts->workspace);
	if (opts->dev_from)
		supervise_annotate_dev(doc->obj, opts->idle_ms, opts->dev_from);
	if (opts->suspend && cJSON_IsObject(json_get(doc->obj, "spec")))
		tj_set_suspend(doc->obj, true);
	if (!ns || !*ns)
		meta_set_namespace(doc->obj, namespace_of(opts));
	json_del(doc->obj,
		 JSON_PATH("metadata", "resourceVersion")); /* as kubectl create */
}

static void report_warnings(const struct doc *doc, const cJSON *warnings,
			    const struct reporter *to)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *w;

	json_each(w, warnings) {
		const char *path =
			str_slice(&arena, w->valuestring, strcspn(w->valuestring, ":"));

		reporter_line(to, "warning: %s%s", doc_place(&arena, doc, path),
			      w->valuestring);
	}
}

static const struct plugin_env env = { .keys = &keys_placeholder };
static const struct pipeline pipeline = { .plugins = plugins, .env = &env };

/* code_reader.read */
static const char *read_code(void *dir, struct arena *arena, const char *path)
{
	cleanup_buf struct buf text = { .max = SCRIPT_MAX };
	const char *of_dir = str_after(path, WORKSPACE_PATH "/");
	struct error err;

	if (!of_dir)
		of_dir = path;
	if (*of_dir != '/')
		of_dir = arena_printf(arena, "%s/%s", (const char *)dir, of_dir);
	if (file_read(&text, of_dir, &err) || !text.data)
		return NULL;
	return arena_strdup(arena, (const char *)text.data);
}

cJSON *job_resolve(struct job_set *set, struct doc *doc, const struct reporter *to)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_json cJSON *warnings = cJSON_CreateArray();
	const struct code_reader code = { read_code, (void *)set->code_dir };
	const struct plugin_env with_code = { .keys = &keys_placeholder,
					      .code = set->code_dir ? &code : NULL };
	const struct pipeline checks = { plugins, &with_code };
	cJSON *runtime;

	if (field_errors_full(&doc->errs))
		return NULL;
	runtime = runtime_resolve(&set->input, set->schema, doc->obj,
				  meta_namespace(doc->obj), &errs);
	if (runtime)
		pipeline_validate(&checks, NULL, doc->obj, runtime, &errs, warnings);
	doc_add_errors(doc, &errs);
	report_warnings(doc, warnings, to);
	return runtime;
}

static void add_job(struct job_set *set, const struct doc *doc, cJSON *take_runtime)
{
	set->list[set->n++] = (struct job){ .doc = doc,
					    .ns = meta_namespace(doc->obj),
					    .name = meta_name(doc->obj),
					    .trainjob = doc->obj,
					    .runtime = take_runtime };
}

/* An object of another namespace than --namespace is not sent there, as by kubectl. */
static int check_namespace(const struct doc *doc, const struct job_opts *opts,
			   struct error *err)
{
	const char *ns = meta_namespace(doc->obj);
	cleanup_arena struct arena arena = { 0 };

	if (!opts->ns || !ns || !*ns || str_eq(ns, opts->ns))
		return 0;
	return error_set(err, ERR_INVALID,
			 "%smetadata.namespace: Invalid value: \"%s\": conflicts with "
			 "--namespace %s",
			 doc_place(&arena, doc, "metadata.namespace"), ns, opts->ns);
}

/* The second of a name would fail in a cluster when the first is stored. */
static void refuse_again(struct map *seen, struct doc *doc)
{
	const cJSON *name = json_get(doc->obj, "metadata", "name");
	const char *ns = meta_namespace(doc->obj);
	cleanup_arena struct arena arena = { 0 };

	if (!cJSON_IsString(name))
		return; /* of generateName, or refused by the schema */
	if (map_put(seen, arena_printf(&arena, "%s/%s", ns ? ns : "", name->valuestring),
		    doc))
		field_error_add(&doc->errs, FIELD_DUPLICATE, "metadata.name", name,
				"another TrainJob has this name");
}

/* Check all documents against the schema; ignore TrainJobs of --runtime-file. */
static int check_docs(struct job_set *set, const struct job_opts *opts,
		      enum job_names names, struct error *err)
{
	cleanup_map struct map seen = { 0 };

	for (size_t i = 0; i < set->input.n; i++) {
		struct doc *doc = &set->input.docs[i];
		bool job = doc_is(doc, TRAINJOB_KIND);

		if (i < set->own && check_namespace(doc, opts, err))
			return -1;
		if (!doc_is_known(doc, set->schema) || (job && i >= set->own))
			continue;
		if (job) {
			refuse_again(&seen, doc);
			override_job(set, doc, opts, names);
		}
		if (job && job_add_args(doc->obj, &set->input, opts, err))
			return -1;
		if (job)
			run_spec_keep_submitted(doc->obj);
		if (names == NAMES_LATER) {
			doc->given = json_dup(doc->obj);
			meta_drop_unset(doc->given);
		}
		doc_check(doc, set->schema);
	}
	return 0;
}

static void warn_runtime(const struct job_set *set, const struct doc *doc,
			 const struct reporter *to)
{
	cleanup_json cJSON *warnings = cJSON_CreateArray();
	cleanup_arena struct arena arena = { 0 };
	const cJSON *w;

	if (!schema_knows(set->schema, doc->obj) || doc_is(doc, TRAINJOB_KIND))
		return;
	validation_warn_of_ends(doc->obj, warnings);
	validation_warn_of_gangs(doc->obj, warnings);
	validation_warn_of_network(doc->obj, warnings);
	validation_warn_of_managers(doc->obj, warnings);
	json_each(w, warnings) {
		const char *path =
			str_slice(&arena, w->valuestring, strcspn(w->valuestring, ":"));

		reporter_line(to, "warning: %s%s", doc_place(&arena, doc, path),
			      w->valuestring);
	}
}

/*
 * Check jobs against their runtimes; report the errors of all documents, return how many.
 */
static size_t check_jobs(struct job_set *set, const struct reporter *to)
{
	size_t bad = 0;

	set->list = xcalloc(set->input.n, sizeof(*set->list));
	for (size_t i = 0; i < set->own; i++) {
		struct doc *doc = &set->input.docs[i];

		if (doc_is(doc, TRAINJOB_KIND) && schema_knows(set->schema, doc->obj))
			add_job(set, doc, job_resolve(set, doc, to));
	}
	for (size_t i = 0; i < set->input.n; i++) {
		warn_runtime(set, &set->input.docs[i], to);
		bad += doc_report(&set->input.docs[i], "", to);
	}
	input_report_rest(&set->input, to);
	return bad;
}

static size_t build(struct job_set *set, const struct reporter *to)
{
	struct error err = { 0 };
	size_t bad = 0;

	for (size_t i = 0; i < set->n; i++) {
		struct job *job = &set->list[i];

		if (!pipeline_build(&pipeline, job->trainjob, job->runtime, &job->objects,
				    &err))
			continue;
		reporter_line(to, "TrainJob %s: %s", job->name, err.msg);
		bad++;
	}
	return bad;
}

/* A runtime that this user may not read counts as absent. */
static int has_runtime(const struct job_set *set, const struct job_opts *opts,
		       const char *kind, struct error *err)
{
	const struct runtime_name which = { kind, namespace_of(opts), opts->runtime };
	cleanup_json cJSON *stored = NULL;

	if (runtime_exists(&set->input, &which, !opts->get_runtime))
		return 1;
	if (opts->get_runtime && opts->get_runtime(opts->ctx, &which, &stored, err))
		return error_clear_if(err, ERR_DENIED);
	return stored != NULL;
}

/* For a name without a kind, prefer the TrainingRuntime of the job's namespace. */
static int set_runtime_kind(struct job_set *set, const struct job_opts *opts, cJSON *job,
			    const struct reporter *to, struct error *err)
{
	int rc;

	if (opts->runtime_kind) {
		tj_set_runtime_kind(job, opts->runtime_kind);
		return 0;
	}
	rc = has_runtime(set, opts, RUNTIME_KIND, err);
	if (rc <= 0)
		return rc;
	tj_set_runtime_kind(job, RUNTIME_KIND);
	rc = has_runtime(set, opts, CLUSTER_RUNTIME_KIND, err);
	if (rc > 0)
		reporter_line(to,
			      "runtime %s: using the TrainingRuntime in namespace %s, "
			      "not the ClusterTrainingRuntime of the same name",
			      opts->runtime, namespace_of(opts));
	return rc < 0 ? -1 : 0;
}

static int read_all(struct job_set *set, const struct job_opts *opts,
		    const struct reporter *to, struct error *err)
{
	cJSON *made = NULL;

	set->input.recursive = opts->recursive;
	if (opts->file && input_read(&set->input, opts->file, err))
		return -1;
	for (size_t i = 0; i < opts->files.n; i++)
		if (input_read(&set->input, opts->files.list[i], err))
			return -1;
	if (input_end(&set->input, err))
		return -1;
	if (opts->trainjob) {
		input_add(&set->input, json_dup(opts->trainjob));
	} else if (!job_opts_file(opts)) {
		if (job_from_opts(&made, opts, err))
			return -1;
		input_add(&set->input, made);
	}
	set->own = set->input.n;
	for (size_t i = 0; i < opts->runtime_files.n; i++)
		if (input_read(&set->input, opts->runtime_files.list[i], err))
			return -1;
	return made ? set_runtime_kind(set, opts, made, to, err) : 0;
}

static size_t count_jobs(const struct job_set *set)
{
	size_t n = 0;

	for (size_t i = 0; i < set->own; i++)
		n += doc_is(&set->input.docs[i], TRAINJOB_KIND);
	return n;
}

static int check_pairs(const char *option, const struct opt_strs *pairs,
		       struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *key, *value;

	for (size_t i = 0; i < pairs->n; i++)
		if (job_pair(&arena, option, pairs->list[i], &key, &value, err))
			return -1;
	return 0;
}

static int check_amounts(const struct job_opts *opts, struct error *err)
{
	const struct {
		const char *option, *text;
	} list[] = {
		{ "--cpu", opts->cpu },
		{ "--memory", opts->memory },
		{ "--gpu", opts->gpu },
	};
	struct quantity q;

	for (size_t i = 0; i < N_ELEMENTS(list); i++)
		if (list[i].text && quantity_parse(&q, list[i].text, IGNORED))
			return error_set(err, ERR_USAGE,
					 "%s: '%.100s' is not a quantity, such as 500m, "
					 "2 or 16Gi",
					 list[i].option, list[i].text);
	return 0;
}

/* Read the documents, and check options without the schema. */
static int begin(struct job_set *set, const struct job_opts *opts,
		 const struct reporter *to, struct error *err)
{
	set->code_dir = opts->code_dir;
	if (check_pairs("--label", &opts->labels, err) ||
	    check_pairs("--annotation", &opts->annotations, err) ||
	    check_amounts(opts, err) || job_env_read(&set->env, opts, to, err) ||
	    input_schema(&set->schema, err) || read_all(set, opts, to, err))
		return -1;
	if (opts->name && opts->generate_name)
		return error_set(err, ERR_USAGE,
				 "specify --name or --generate-name, not both");
	if (opts->name && count_jobs(set) > 1)
		return error_set(err, ERR_USAGE,
				 "--name cannot be used with several TrainJobs");
	return 0;
}

const char *job_opts_file(const struct job_opts *opts)
{
	return opts->file ? opts->file : opts->files.n ? opts->files.list[0] : NULL;
}

const char *job_opts_files(struct arena *arena, const struct job_opts *opts)
{
	const char *first = opts->file ? opts->file : "", *rest = "";

	if (opts->files.n)
		rest = str_join(arena, opts->files.list, ", ");
	return str_eq(first, "-") && !*rest
		       ? "stdin"
		       : arena_printf(arena, "%s%s%s", first, *first && *rest ? ", " : "",
				      rest);
}

static int no_job(const struct job_set *set, const struct job_opts *opts,
		  struct error *err)
{
	const char *kinds[MAX_KINDS + 1] = { 0 }, *kind;
	cleanup_arena struct arena arena = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < set->own && n < MAX_KINDS; i++) {
		kind = meta_kind(set->input.docs[i].obj);
		if (kind && !str_in(kind, kinds))
			kinds[n++] = kind;
	}
	return error_set(err, ERR_INVALID, "%s: contains no TrainJob%s%s",
			 job_opts_files(&arena, opts), n ? ", but " : "",
			 str_join(&arena, kinds, ", "));
}

/* Move stringData into data, as an API server does. */
static void encode_string_data(cJSON *secret)
{
	const cJSON *text;

	json_each(text, json_get(secret, "stringData")) {
		cleanup_buf struct buf encoded = { .max = 2 * INPUT_MAX };

		if (!cJSON_IsString(text))
			continue;
		base64_encode(&encoded, text->valuestring, strlen(text->valuestring));
		json_put_str(secret, encoded.data ? (const char *)encoded.data : "",
			     "data", text->string);
	}
	json_del(secret, JSON_PATH("stringData"));
}

bool doc_is_config(const struct doc *doc)
{
	const char *kind = meta_kind(doc->obj);

	return str_eq(meta_api_version(doc->obj), "v1") && meta_name(doc->obj) &&
	       (str_eq(kind, "ConfigMap") || str_eq(kind, "Secret"));
}

cJSON *job_config(const struct job_set *set, const struct job *job)
{
	cJSON *ret = cJSON_CreateArray();

	for (size_t i = 0; i < set->input.n; i++) {
		const cJSON *obj = set->input.docs[i].obj;
		const char *ns = meta_namespace(obj);
		cJSON *copy;

		if (!doc_is_config(&set->input.docs[i]) || (ns && !str_eq(ns, job->ns)))
			continue;
		copy = json_dup(obj);
		meta_set_namespace(copy, job->ns);
		encode_string_data(copy);
		cJSON_AddItemToArray(ret, copy);
	}
	return ret;
}

static int load(struct job_set *set, const struct job_opts *opts, enum job_names names,
		const struct reporter *to, struct error *err)
{
	if (begin(set, opts, to, err) || check_docs(set, opts, names, err))
		return -1;
	return check_jobs(set, to) || build(set, to) ? 1 : 0;
}

void job_warn_ignored(const struct job_set *set, const struct reporter *to)
{
	for (size_t i = 0; i < set->input.n; i++) {
		const struct doc *doc = &set->input.docs[i];

		if (!schema_knows(set->schema, doc->obj) && !doc_is_config(doc))
			doc_warn_ignored(
				doc, "TrainJobs, their runtimes, ConfigMaps and Secrets",
				to);
	}
}

int job_set_load(struct job_set *ret, const struct job_opts *opts, enum job_names names,
		 const struct reporter *to, struct error *err)
{
	int code = load(ret, opts, names, to, err);

	if (!code && !ret->n)
		return no_job(ret, opts, err);
	if (!code)
		job_warn_ignored(ret, to);
	return code;
}

int job_set_read(struct job_set *ret, const struct job_opts *opts,
		 const struct reporter *to, struct error *err)
{
	if (begin(ret, opts, to, err) || check_docs(ret, opts, NAMES_LATER, err))
		return -1;
	return count_jobs(ret) ? 0 : no_job(ret, opts, err);
}

int job_set_check(struct job_set *ret, const struct job_opts *opts,
		  const struct reporter *to, struct error *err)
{
	return load(ret, opts, NAMES_FIXED, to, err);
}

void job_set_release(struct job_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		cJSON_Delete(set->list[i].runtime);
		cJSON_Delete(set->list[i].objects);
	}
	free(set->list);
	cJSON_Delete(set->env);
	if (set->schema)
		schema_free(set->schema);
	input_release(&set->input);
}
