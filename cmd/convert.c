/*
 * convert.c - convert jobs of Training Operator V1 and MPI Operator (convert/convert.h).
 *
 * Prints all documents in order; documents that are not such jobs remain unchanged.
 * Grades of fields go to stderr. If a job is refused, nothing is printed.
 */
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/ui/out.h"
#include "convert/convert.h"
#include "plugins/plugins.h"
#include "spec/catalog.h"
#include "spec/input.h"
#include "trainer/api.h"
#include "trainer/pipeline.h"

enum target { TARGET_KFTRAINER, TARGET_UPSTREAM };

struct convert_opts {
	struct opt_strs files, runtime_files;
	const char *shared, *report;
	int output, target;
	bool recursive;
};

static const char *const formats[] = { "yaml", "json", NULL };
static const char *const targets[] = { "kftrainer", "upstream", NULL };

static const struct opt opts_table[] = {
	OPT_STRS('f', "filename", "FILE",
		 "file, directory or URL; - is stdin; repeatable", struct convert_opts,
		 files),
	INPUT_RECURSIVE(struct convert_opts, recursive),
	OPT_ENUM('o', "output", "FORMAT", "output format", struct convert_opts, output,
		 formats),
	OPT_STR(0, "shared", "RUNTIME", "use this runtime instead of creating one",
		struct convert_opts, shared),
	OPT_STRS(0, "runtime-file", "FILE", "file with more runtimes; repeatable",
		 struct convert_opts, runtime_files),
	OPT_ENUM(0, "target", "WHOSE", "Trainer that the result must run on",
		 struct convert_opts, target, targets),
	OPT_STR(0, "report", "FILE", "file for a JSON report on each field",
		struct convert_opts, report),
	{ .type = OPT_END },
};

struct run {
	const struct convert_opts *opts;
	struct input in, runtimes;
	struct schema *schema, *v1, *v2beta1;
	struct convert_conf conf;
	cJSON *shared, *items, *report; /* arrays, except shared */
	struct reporter to;
	struct map names; /* printed documents, by "KIND NAMESPACE/NAME" */
	struct map jobs;  /* valid jobs, by name */
	size_t refused;
	enum grade grade;
};

/* ---- the report ---- */

static void put_place(cJSON *to, struct doc *doc, const char *path)
{
	int line, column;

	if (!doc_locate(doc, path, &line, &column))
		return;
	json_put_int(to, line, "line");
	json_put_int(to, column, "column");
}

static void report_field(cJSON *fields, struct doc *doc, const struct convert_note *n,
			 const char *grade)
{
	cJSON *field = cJSON_CreateObject();

	json_put_str(field, n->path, "path");
	json_put_str(field, grade, "grade");
	if (n->value)
		json_put_str(field, n->value, "value");
	json_put_str(field, n->text, "message");
	put_place(field, doc, n->path);
	cJSON_AddItemToArray(fields, field);
}

static void report_doc(struct run *r, struct doc *doc, const struct convert_result *res)
{
	cJSON *entry, *fields;
	bool refused = doc->errs.n > 0;

	if (!r->opts->report)
		return;
	entry = cJSON_CreateObject();
	if (doc->source->name)
		json_put_str(entry, doc->source->name, "file");
	put_place(entry, doc, "");
	if (meta_kind(doc->obj))
		json_put_str(entry, meta_kind(doc->obj), "kind");
	if (meta_namespace(doc->obj))
		json_put_str(entry, meta_namespace(doc->obj), "namespace");
	if (meta_name(doc->obj))
		json_put_str(entry, meta_name(doc->obj), "name");
	json_put_str(entry, refused ? "refused" : grade_name[res->grade], "grade");
	fields = json_list(entry, "fields");
	for (size_t i = 0; i < doc->errs.n; i++) {
		const struct field_error *e = &doc->errs.list[i];
		struct convert_note n = {
			.path = e->path,
			.value = e->value,
			.text = *e->detail ? e->detail : field_error_type_name(e->type)
		};

		report_field(fields, doc, &n, "refused");
	}
	for (size_t i = 0; i < res->n && !refused; i++)
		report_field(fields, doc, &res->notes[i],
			     grade_name[res->notes[i].grade]);
	cJSON_AddItemToArray(r->report, entry);
}

static int write_report(const struct run *r, int code, struct error *err)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();
	cleanup_buf struct buf text = { .max = (size_t)1 << 30 };

	if (!r->opts->report)
		return 0;
	json_put_int(doc, code, "exitCode");
	json_put_str(doc, r->refused ? "refused" : grade_name[r->grade], "grade");
	json_put(doc, json_dup(r->report), "documents");
	json_print_pretty(&text, doc);
	if (buf_check(&text, "the report", err))
		return -1;
	return file_write(r->opts->report, text.data, text.len, 0644, err);
}

/* ---- one document ---- */

/* Check the results by the webhooks' rules, like `runtime validate`. */
static void verify(struct run *r, struct doc *doc, const struct convert_result *res)
{
	static const struct plugin_env env = { .keys = &keys_placeholder };
	static const struct pipeline pipeline = { plugins, &env };
	cleanup_json cJSON *runtime = json_dup(res->runtime ? res->runtime : r->shared);
	cleanup_json cJSON *job = json_dup(res->job);

	schema_validate(r->schema, job, NULL, &doc->errs);
	schema_validate(r->schema, runtime, NULL, &doc->errs);
	if (doc->errs.n)
		return;
	schema_default(r->schema, job);
	schema_default(r->schema, runtime);
	pipeline_validate_runtime(runtime, &doc->errs, NULL);
	if (!doc->errs.n)
		pipeline_validate(&pipeline, NULL, job, runtime, &doc->errs, NULL);
}

/* Two results with one name would overwrite each other. */
static void add_item(struct run *r, struct doc *doc, cJSON *take_obj)
{
	cleanup_arena struct arena arena = { 0 };
	const char *ns = meta_namespace(take_obj), *name = meta_name(take_obj);
	char *key = arena_printf(&arena, "%s %s/%s", meta_kind(take_obj), ns ? ns : "",
				 name ? name : "");

	cJSON_AddItemToArray(r->items, take_obj);
	if (!name || !meta_is(take_obj, TRAINER_GROUP, meta_kind(take_obj)))
		return;
	if (map_put(&r->names, key, take_obj))
		field_error_add(&doc->errs, FIELD_DUPLICATE, "metadata.name",
				json_get(doc->obj, "metadata", "name"),
				"the input contains another %s with this name",
				meta_kind(take_obj));
}

static void report_job(struct doc *doc, const struct convert_result *res)
{
	for (size_t i = 0; i < res->n; i++) {
		cleanup_arena struct arena arena = { 0 };
		const struct convert_note *n = &res->notes[i];
		char *line;

		if (n->grade == GRADE_EXACT)
			continue; /* nothing differs: only in the report */
		line = arena_printf(&arena, "%s%s: %s: %s: %s",
				    doc_place(&arena, doc, n->path), n->path, n->value,
				    grade_name[n->grade], n->text);
		fprintf(stderr, "%s\n", str_visible(&arena, line, false));
	}
}

static void move_errors(struct doc *doc, struct convert_result *res)
{
	doc->errs = res->errs;
	res->errs = (struct field_errors){ 0 };
}

static void convert_doc(struct run *r, struct doc *doc)
{
	cleanup_convert_result struct convert_result res = { 0 };

	convert_job(&res, &r->conf, doc->obj);
	move_errors(doc, &res);
	if (!doc->errs.n)
		verify(r, doc, &res);
	if (!doc->errs.n) {
		if (res.runtime)
			add_item(r, doc, STEAL(res.runtime));
		add_item(r, doc, STEAL(res.job));
	}
	if (!doc->errs.n)
		report_job(doc, &res);
	if (res.grade > r->grade)
		r->grade = res.grade;
	report_doc(r, doc, &res);
}

static void pass_doc(struct run *r, struct doc *doc)
{
	cleanup_convert_result struct convert_result res = { 0 };
	cleanup_json cJSON *obj = json_dup(doc->obj);

	if (!cJSON_IsObject(obj))
		field_error_add(&res.errs, FIELD_TYPE_INVALID, "", obj,
				"must be an object with apiVersion and kind");
	else if (!meta_kind(obj) || !meta_api_version(obj))
		field_error_add(&res.errs, FIELD_REQUIRED,
				meta_kind(obj) ? "apiVersion" : "kind", NULL,
				"every document needs an apiVersion and a kind");
	else
		convert_trainer(&res, obj);
	move_errors(doc, &res);
	if (!doc->errs.n)
		add_item(r, doc, STEAL(obj));
	if (!doc->errs.n)
		convert_mentions(&res, &r->conf, &r->jobs, doc->obj);
	report_job(doc, &res);
	if (res.grade > r->grade)
		r->grade = res.grade;
	report_doc(r, doc, &res);
}

static void each_doc(struct run *r, struct doc *doc)
{
	const struct convert_result none = { 0 };

	switch (convert_what(doc->obj, &doc->errs)) {
	case CONVERT_JOB:
		convert_doc(r, doc);
		break;
	case CONVERT_OTHER:
		pass_doc(r, doc);
		break;
	case CONVERT_UNKNOWN:
		report_doc(r, doc, &none);
		break;
	}
	r->refused += doc_report(doc, "", &r->to) > 0;
}

/* ---- all of them ---- */

static void find_jobs(struct run *r)
{
	for (size_t i = 0; i < r->in.n; i++) {
		cleanup_field_errors struct field_errors errs = { 0 };
		cJSON *obj = r->in.docs[i].obj;

		if (convert_what(obj, &errs) != CONVERT_JOB || !meta_name(obj))
			continue;
		if (convert_is_valid(&r->conf, obj))
			map_put(&r->jobs, meta_name(obj), obj);
	}
}

static int load_schema(struct schema **ret, const struct schema *base, const char *name,
		       struct error *err)
{
	const struct asset *asset = asset_find(name);

	if (!asset)
		return error_set(err, ERR_NOT_FOUND, "%s is not in this binary", name);
	return schema_load_on(ret, base, asset->data, asset->len, err);
}

static int read_all(struct run *r, int argc, char **argv, struct error *err)
{
	const struct convert_opts *o = r->opts;

	r->in.recursive = r->runtimes.recursive = o->recursive;
	for (int i = 0; i < argc; i++)
		if (input_read(&r->in, argv[i], err))
			return -1;
	for (size_t i = 0; i < o->files.n; i++)
		if (input_read(&r->in, o->files.list[i], err))
			return -1;
	for (size_t i = 0; i < o->runtime_files.n; i++)
		if (input_read(&r->runtimes, o->runtime_files.list[i], err))
			return -1;
	return input_end(&r->in, err) || input_end(&r->runtimes, err) ? -1 : 0;
}

static int prepare(struct run *r, int argc, char **argv, struct error *err)
{
	const struct convert_opts *o = r->opts;

	if (!argc && !o->files.n)
		return error_set(err, ERR_USAGE, "specify at least one file");
	if (read_all(r, argc, argv, err) || input_schema(&r->schema, err) ||
	    load_schema(&r->v1, r->schema, "v1.yaml", err) ||
	    load_schema(&r->v2beta1, r->v1, "v2beta1.yaml", err))
		return -1;
	if (o->shared &&
	    runtime_by_name(&r->shared, &r->runtimes, NULL, r->schema, o->shared, err)) {
		err->kind = ERR_USAGE;
		return error_wrap(err, "--shared");
	}
	r->conf = (struct convert_conf){ r->v1, r->v2beta1, r->shared,
					 o->target == TARGET_UPSTREAM };
	r->items = cJSON_CreateArray();
	r->report = cJSON_CreateArray();
	return 0;
}

static int print_items(struct run *r, struct error *err)
{
	cleanup_json cJSON *list = NULL;
	const cJSON *obj;

	if (out_format(formats[r->opts->output]) == OUT_JSON) {
		list = out_list(STEAL(r->items));
		return out_doc(OUT_JSON, list, err);
	}
	json_each(obj, r->items) {
		fputs(obj == r->items->child ? "" : "---\n", stdout);
		if (out_doc(OUT_YAML, obj, err))
			return -1;
	}
	return 0;
}

static int convert_all(struct run *r, int argc, char **argv, struct error *err)
{
	static const int codes[N_GRADES] = { EXIT_OK, EXIT_APPROXIMATE, EXIT_LOST };
	int code;

	if (prepare(r, argc, argv, err))
		return -1;
	find_jobs(r);
	for (size_t i = 0; i < r->in.n; i++)
		each_doc(r, &r->in.docs[i]);
	input_report_rest(&r->in, &r->to);
	code = r->refused ? EXIT_BAD_INPUT : codes[r->grade];
	if (write_report(r, code, err) || (!r->refused && print_items(r, err)))
		return -1;
	return code;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	struct run r = { .opts = values, .to = cmd_reporter("convert") };
	int code = convert_all(&r, argc, argv, err);

	input_release(&r.in);
	input_release(&r.runtimes);
	schema_free(r.schema);
	schema_free(r.v1);
	schema_free(r.v2beta1);
	cJSON_Delete(r.shared);
	cJSON_Delete(r.items);
	cJSON_Delete(r.report);
	map_release(&r.names, NULL);
	map_release(&r.jobs, NULL);
	return code;
}

const struct cmd cmd_convert = {
	.name = "convert",
	.args = "[FILE|-...]",
	.summary = "turn jobs of Training Operator V1 and MPI Operator into TrainJobs",
	.about =
		"Converts PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob and MPIJob to a\n"
		"TrainingRuntime and a TrainJob each; podTemplateOverrides in TrainJobs of\n"
		"Kubeflow Trainer 2.0 and 2.1 to runtimePatches. Prints other documents\n"
		"unchanged. Each field that means less or something else gets a line on stderr;\n"
		"--report has all. If anything is refused, nothing is printed.\n"
		"\n"
		"Exit code: 0 exact, 3 approximate, 4 lost, 2 refused.",
	.example = "kftrainer convert job.yaml > trainjob.yaml\n"
		   "kftrainer convert job.yaml | kftrainer submit --local -f -\n"
		   "kftrainer convert job.yaml --shared torch-distributed",
	.opts = opts_table,
	.opts_size = sizeof(struct convert_opts),
	.run = run,
};
