#include "cmd/job.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "api/meta.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cmd/cmd.h"
#include "cmd/runtimes.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/pipeline.h"
#include "trainer/trainjob.h"

#define DEFAULT_NAMESPACE "default"

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
			bool unique)
{
	struct arena *arena = &set->input.arena;
	const char *ns = meta_namespace(doc->obj);
	const char *base = meta_generate_name(doc->obj);

	if (!cJSON_IsObject(json_get(doc->obj, "metadata")))
		return; /* the schema says so */
	if (opts->name)
		meta_set_name(doc->obj, opts->name);
	else if (!meta_name(doc->obj) && base)
		meta_set_name(doc->obj, generate_name(arena, base, unique));
	if (ns && *ns && opts->ns && !str_eq(ns, opts->ns))
		field_error_add(&doc->errs, FIELD_INVALID, "metadata.namespace",
				json_get(doc->obj, "metadata", "namespace"),
				"--namespace says '%s'", opts->ns);
	if (!ns || !*ns)
		meta_set_namespace(doc->obj, opts->ns ? opts->ns : DEFAULT_NAMESPACE);
}

/* "limits[cpu]" is "limits.cpu". */
static bool same_path(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += *a == ']';
		b += *b == ']';
		if (*a != *b && !(strchr("[.", *a) && strchr("[.", *b)))
			return false;
		if (!*a || !*b)
			return *a == *b;
	}
}

/* A rule that the schema has told of already is not told again. */
static void add_news(struct field_errors *errs, const struct field_errors *more)
{
	size_t before = errs->n;

	for (size_t i = 0; i < more->n; i++) {
		const struct field_error *e = &more->list[i];
		bool known = false;

		for (size_t k = 0; k < before; k++)
			known |= same_path(errs->list[k].path, e->path);
		if (known)
			continue;
		field_error_add(errs, e->type, e->path, NULL, "%s", e->detail);
		if (e->value)
			errs->list[errs->n - 1].value =
				arena_strdup(&errs->arena, e->value);
	}
}

static void tell_warnings(const struct doc *doc, const cJSON *warnings, const char *cmd)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *w;

	json_each(w, warnings)
		cmd_complain(cmd, "warning: %s%s", doc_place(&arena, doc, ""),
			     w->valuestring);
}

static const struct plugin_env env = { .keys = &keys_placeholder };
static const struct pipeline pipeline = { .plugins = plugins, .env = &env };

/* What the webhooks of a cluster would say. Gives the runtime, if there is one. */
static cJSON *resolve(struct job_set *set, struct doc *doc, const char *cmd)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_json cJSON *warnings = cJSON_CreateArray();
	cJSON *runtime = runtime_resolve(&set->input, set->schema, doc->obj,
					 meta_namespace(doc->obj), &errs);

	if (runtime)
		pipeline_validate(&pipeline, NULL, doc->obj, runtime, &errs, warnings);
	add_news(&doc->errs, &errs);
	tell_warnings(doc, warnings, cmd);
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

/*
 * All documents against the schema, then the jobs against their runtimes, then
 * all that is wrong is told. Documents from `from` on are of --runtime-file:
 * jobs there do not count. How many errors there were.
 */
static size_t check(struct job_set *set, const struct job_opts *opts, size_t from,
		    bool unique, const char *cmd)
{
	size_t bad = 0;

	for (size_t i = 0; i < set->input.n; i++) {
		struct doc *doc = &set->input.docs[i];
		bool job = doc_is(doc, TRAINJOB_KIND);

		if (!doc_is_known(doc, set->schema) || (job && i >= from))
			continue;
		if (job)
			settle_meta(set, doc, opts, unique);
		doc_check(doc, set->schema);
	}
	set->list = xcalloc(set->input.n, sizeof(*set->list));
	for (size_t i = 0; i < from; i++) {
		struct doc *doc = &set->input.docs[i];

		if (doc_is(doc, TRAINJOB_KIND) && schema_knows(set->schema, doc->obj))
			add_job(set, doc, resolve(set, doc, cmd));
	}
	for (size_t i = 0; i < set->input.n; i++)
		bad += doc_tell(&set->input.docs[i], cmd);
	return bad;
}

static size_t build(struct job_set *set, const char *cmd)
{
	struct error err = { 0 };
	size_t bad = 0;

	for (size_t i = 0; i < set->n; i++) {
		struct job *job = &set->list[i];

		if (!pipeline_build(&pipeline, job->trainjob, job->runtime, &job->objects,
				    &err))
			continue;
		cmd_complain(cmd, "TrainJob %s: %s", job->name, err.msg);
		bad++;
	}
	return bad;
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

/* An API server writes stringData into data. */
static void settle_secret(cJSON *secret)
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

static bool is_config(const cJSON *obj)
{
	const char *kind = meta_kind(obj);

	return str_eq(meta_api_version(obj), "v1") && meta_name(obj) &&
	       (str_eq(kind, "ConfigMap") || str_eq(kind, "Secret"));
}

void job_add_config(const struct job_set *set, struct job *job)
{
	for (size_t i = 0; i < set->input.n; i++) {
		const cJSON *obj = set->input.docs[i].obj;
		const char *ns = meta_namespace(obj);
		cJSON *copy;

		if (!is_config(obj) || (ns && !str_eq(ns, job->ns)))
			continue;
		copy = json_dup(obj);
		meta_set_namespace(copy, job->ns);
		settle_secret(copy);
		cJSON_AddItemToArray(job->objects, copy);
	}
}

static int load(struct job_set *set, const struct job_opts *opts, bool unique,
		const char *cmd, struct error *err)
{
	size_t from = 0;

	if (input_schema(&set->schema, err) || read_all(set, opts, &from, err))
		return -1;
	if (opts->name && count_jobs(set, from) > 1)
		return error_set(err, ERR_USAGE,
				 "--name: the file has several TrainJobs");
	return check(set, opts, from, unique, cmd) || build(set, cmd) ? EXIT_BAD_INPUT
								      : 0;
}

static void tell_left_out(const struct job_set *set, const char *cmd)
{
	for (size_t i = 0; i < set->input.n; i++) {
		const struct doc *doc = &set->input.docs[i];

		if (!schema_knows(set->schema, doc->obj) && !is_config(doc->obj))
			doc_tell_left_out(doc,
					  "TrainJobs, their runtimes, ConfigMaps and "
					  "Secrets",
					  cmd);
	}
}

int job_set_load(struct job_set *ret, const struct job_opts *opts, bool unique,
		 const char *cmd, struct error *err)
{
	int code = load(ret, opts, unique, cmd, err);

	if (!code && !ret->n)
		return error_set(err, ERR_INVALID, "%s: there is no TrainJob in it",
				 str_eq(opts->file, "-") ? "stdin" : opts->file);
	if (!code)
		tell_left_out(ret, cmd);
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
