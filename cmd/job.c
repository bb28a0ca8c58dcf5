#include "cmd/job.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "api/meta.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cmd/cmd.h"
#include "cmd/runtimes.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/pipeline.h"
#include "trainer/trainjob.h"

#define DEFAULT_NAMESPACE "default"

/* The document says something else than the command line, or too little. */
static void tell_field(struct doc *doc, const char *path, const char *what,
		       const char *cmd)
{
	cleanup_field_errors struct field_errors errs = { 0 };

	field_error_add(&errs, FIELD_INVALID, path, NULL, "%s", what);
	doc_tell(doc, &errs, cmd);
	doc->bad = true;
}

/*
 * The API server puts five random characters behind metadata.generateName; a
 * dry run always the same, so that two of them are equal.
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

/* metadata.name and .namespace, from the command line where it has them. */
static void settle_meta(struct job_set *set, struct doc *doc, const struct job_opts *opts,
			bool unique, const char *cmd)
{
	struct arena *arena = &set->input.arena;
	const char *ns = meta_namespace(doc->obj);
	const char *base = json_str(doc->obj, "metadata", "generateName");

	if (!cJSON_IsObject(json_get(doc->obj, "metadata")))
		return; /* the schema says so */
	if (opts->name)
		json_put_str(doc->obj, opts->name, "metadata", "name");
	else if (!meta_name(doc->obj) && base)
		json_put_str(doc->obj, generate_name(arena, base, unique), "metadata",
			     "name");
	if (ns && *ns && opts->ns && !str_eq(ns, opts->ns))
		tell_field(doc, "metadata.namespace",
			   arena_printf(arena,
					"the file says '%s', --namespace says '%s'", ns,
					opts->ns),
			   cmd);
	if (!ns || !*ns)
		json_put_str(doc->obj, opts->ns ? opts->ns : DEFAULT_NAMESPACE,
			     "metadata", "namespace");
}

/* A runtime or a TrainJob, and one that we know? Others are left alone. */
static bool check_kind(struct job_set *set, struct doc *doc, const char *cmd)
{
	static const char *const ours[] = { TRAINJOB_KIND, RUNTIME_KIND,
					    CLUSTER_RUNTIME_KIND, NULL };
	const char *kind = meta_kind(doc->obj), *version = meta_api_version(doc->obj);
	const char *near = kind ? nearest_word(kind, ours) : NULL;
	struct arena *arena = &set->input.arena;

	if (schema_knows(set->schema, doc->obj))
		return true;
	if (!kind || !version)
		tell_field(doc, "",
			   "not a Kubernetes object: it needs apiVersion and kind", cmd);
	else if (str_eq(version, TRAINER_API_VERSION) || (near && str_eq(near, kind)))
		tell_field(doc, near && str_eq(near, kind) ? "apiVersion" : "kind",
			   arena_printf(arena, "no %s %s here; want %s %s", version, kind,
					TRAINER_API_VERSION, near ? near : TRAINJOB_KIND),
			   cmd);
	return false;
}

/* `from`: documents of this index on are of --runtime-file; jobs there do not count. */
static size_t check_docs(struct job_set *set, const struct job_opts *opts, size_t from,
			 bool unique, const char *cmd)
{
	size_t bad = 0;

	for (size_t i = 0; i < set->input.n; i++) {
		struct doc *doc = &set->input.docs[i];

		if (check_kind(set, doc, cmd) &&
		    (i < from || !doc_is(doc, TRAINJOB_KIND))) {
			if (doc_is(doc, TRAINJOB_KIND))
				settle_meta(set, doc, opts, unique, cmd);
			doc_check(doc, set->schema, cmd);
		}
		bad += doc->bad;
	}
	return bad;
}

static void tell_warnings(const struct job *job, const cJSON *warnings, const char *cmd)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *w;

	json_each(w, warnings)
		cmd_complain(cmd, "warning: %s%s", doc_place(&arena, job->doc, ""),
			     w->valuestring);
}

/* Its runtime and its objects. False when something is wrong, and told. */
static bool build(struct job_set *set, struct job *job, const char *cmd)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_json cJSON *warnings = cJSON_CreateArray();
	const struct plugin_env env = { .keys = &keys_placeholder };
	const struct pipeline pipeline = { .plugins = plugins, .env = &env };
	struct error err = { 0 };

	job->runtime =
		runtime_resolve(&set->input, set->schema, job->trainjob, job->ns, &errs);
	if (job->runtime)
		pipeline_validate(&pipeline, NULL, job->trainjob, job->runtime, &errs,
				  warnings);
	tell_warnings(job, warnings, cmd);
	if (doc_tell(job->doc, &errs, cmd) || !job->runtime)
		return false;
	if (!pipeline_build(&pipeline, job->trainjob, job->runtime, &job->objects, &err))
		return true;
	cmd_complain(cmd, "TrainJob %s: %s", job->name, err.msg);
	return false;
}

/* All jobs are gone through, so that all errors are told. */
static int build_all(struct job_set *set, size_t from, const char *cmd)
{
	size_t bad = 0;

	set->list = xcalloc(set->input.n, sizeof(*set->list));
	for (size_t i = 0; i < from; i++) {
		struct doc *doc = &set->input.docs[i];
		struct job *job = &set->list[set->n];

		if (!doc_is(doc, TRAINJOB_KIND) || doc->bad)
			continue;
		*job = (struct job){ .doc = doc,
				     .ns = meta_namespace(doc->obj),
				     .name = meta_name(doc->obj),
				     .trainjob = doc->obj };
		set->n++;
		bad += !build(set, job, cmd);
	}
	return bad ? EXIT_BAD_INPUT : 0;
}

static int read_all(struct job_set *set, const struct job_opts *opts, size_t *ret_from,
		    struct error *err)
{
	cJSON *made = NULL;

	if (opts->file) {
		if (input_read(&set->input, opts->file, err))
			return -1;
	} else {
		if (job_from_opts(&made, opts, err))
			return -1;
		input_add(&set->input, made);
	}
	*ret_from = set->input.n;
	for (size_t i = 0; i < opts->runtime_files.n; i++)
		if (input_read(&set->input, opts->runtime_files.list[i], err))
			return -1;
	return 0;
}

static size_t count_jobs(const struct job_set *set, size_t from)
{
	size_t n = 0;

	for (size_t i = 0; i < from; i++)
		n += doc_is(&set->input.docs[i], TRAINJOB_KIND);
	return n;
}

static int load(struct job_set *set, const struct job_opts *opts, bool unique,
		const char *cmd, struct error *err)
{
	size_t from = 0, bad;
	int built;

	if (input_schema(&set->schema, err) || read_all(set, opts, &from, err))
		return -1;
	if (opts->name && count_jobs(set, from) > 1)
		return error_set(err, ERR_USAGE,
				 "--name: the file has several TrainJobs");
	bad = check_docs(set, opts, from, unique, cmd);
	built = build_all(set, from, cmd);
	return bad ? EXIT_BAD_INPUT : built;
}

int job_set_load(struct job_set *ret, const struct job_opts *opts, bool unique,
		 const char *cmd, struct error *err)
{
	int code = load(ret, opts, unique, cmd, err);

	if (!code && !ret->n)
		return error_set(err, ERR_INVALID, "%s: there is no TrainJob in it",
				 str_eq(opts->file, "-") ? "stdin" : opts->file);
	return code;
}

int job_set_check(struct job_set *ret, const struct job_opts *opts, const char *cmd,
		  struct error *err)
{
	return load(ret, opts, false, cmd, err);
}

void job_set_release(struct job_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		cJSON_Delete(set->list[i].runtime);
		cJSON_Delete(set->list[i].objects);
	}
	free(set->list);
	if (set->schema)
		schema_free(set->schema);
	input_release(&set->input);
}
