/* input.c - read documents, check them, report errors by file and line (spec/input.h). */
#include "spec/input.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/meta.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "net/uri.h"
#include "spec/files.h"
#include "spec/reporter.h"
#include "trainer/api.h"
#include "trainer/pipeline.h"

#define LIST_SUFFIX "List"

static struct doc *new_doc(struct input *in)
{
	if (in->n == in->cap) {
		in->cap = in->cap ? 2 * in->cap : 8;
		in->docs = xreallocarray(in->docs, in->cap, sizeof(*in->docs));
	}
	in->docs[in->n] =
		(struct doc){ .prefix = "", .errs = { .max = INPUT_ERRORS_MAX } };
	return &in->docs[in->n++];
}

/* An API server omits kind and apiVersion from the items of a TrainJobList. */
static void set_item_type(const cJSON *list, cJSON *item)
{
	const char *kind = meta_kind(list), *version = meta_api_version(list);
	size_t len = strlen(kind) - strlen(LIST_SUFFIX);
	cleanup_arena struct arena arena = { 0 };

	if (!len || !version || !cJSON_IsObject(item) || json_get(item, "kind"))
		return;
	json_put_str(item, str_slice(&arena, kind, len), "kind");
	json_put_str(item, version, "apiVersion");
}

static bool is_list(const cJSON *obj)
{
	const cJSON *items = cJSON_IsObject(obj) ? json_member(obj, "items") : NULL;

	return meta_kind(obj) && str_ends(meta_kind(obj), LIST_SUFFIX) &&
	       (cJSON_IsArray(items) || cJSON_IsNull(items));
}

static void add_doc(struct input *in, struct source *source, int index,
		    const char *prefix, cJSON *obj)
{
	struct doc *doc;
	cJSON *item;
	int i = 0;

	if (is_list(obj)) {
		json_each(item, json_get(obj, "items")) {
			set_item_type(obj, item);
			add_doc(in, source, index,
				arena_printf(&in->arena, "%s%sitems[%d]", prefix,
					     *prefix ? "." : "", i++),
				item);
		}
		return;
	}
	doc = new_doc(in);
	doc->obj = obj;
	doc->source = source;
	doc->index = index;
	doc->prefix = prefix;
}

static int read_text(struct source *source, const char *path, struct error *err)
{
	struct error why = { 0 };
	int ret;

	if (str_eq(path, "-"))
		ret = file_read_fd(&source->text, STDIN_FILENO, source->name, &why);
	else if (files_is_url(path))
		ret = files_fetch(&source->text, path, &why);
	else
		ret = file_read(&source->text, path, &why);
	if (!ret)
		return 0;
	if (why.kind == ERR_LIMIT)
		return error_set(err, ERR_LIMIT, "%s: larger than the limit of %zu MiB",
				 source->name, INPUT_MAX >> 20);
	/* Whatever the cause, the input is invalid. */
	return error_set(err, ERR_INVALID, "%s", why.msg);
}

static int read_source(struct input *in, const char *path, bool may_be_empty,
		       struct error *err)
{
	struct source *source = arena_alloc(&in->arena, sizeof(*source));
	struct error why = { 0 };
	cJSON *doc;
	int i = 0;

	source->name = str_eq(path, "-")    ? "stdin"
		       : files_is_url(path) ? uri_shown(&in->arena, path)
					    : arena_strdup(&in->arena, path);
	source->text.max = INPUT_MAX;
	source->next = in->sources;
	in->sources = source;
	if (read_text(source, path, err))
		return -1;
	in->bytes += source->text.len;
	if (in->bytes > INPUT_ALL_MAX)
		return error_set(err, ERR_LIMIT, "%s: the files exceed %zu MiB together",
				 source->name, INPUT_ALL_MAX >> 20);
	if (yaml_parse(&source->docs, source->text.data, source->text.len, &why))
		return error_set(err, why.kind, "%s:%s", source->name, why.msg);
	if (!source->docs->child && !may_be_empty)
		return error_set(err, ERR_INVALID, "%s: contains no document",
				 source->name);
	json_each(doc, source->docs)
		add_doc(in, source, i++, "", doc);
	return 0;
}

static int read_dir(struct input *in, const char *dir, struct error *err)
{
	const char **files;

	if (files_in(&in->arena, dir, in->recursive, &files, err))
		return -1;
	if (!*files)
		in->empty = in->empty ? arena_printf(&in->arena, "%s %s", in->empty, dir)
				      : arena_strdup(&in->arena, dir);
	for (; *files; files++)
		if (read_source(in, *files, true, err))
			return -1;
	return 0;
}

static int read_path(struct input *in, const char *path, struct error *err)
{
	struct stat st;

	if (!str_eq(path, "-") && !files_is_url(path) && !stat(path, &st) &&
	    S_ISDIR(st.st_mode))
		return read_dir(in, path, err);
	return read_source(in, path, false, err);
}

static int read_each(struct input *in, const char *const *paths,
		     int (*read)(struct input *, const char *, struct error *),
		     struct error *err)
{
	for (; *paths; paths++)
		if (read(in, *paths, err))
			return -1;
	return 0;
}

int input_read(struct input *in, const char *path, struct error *err)
{
	const char *const *matches;
	char **parts;

	if (str_eq(path, "-") || files_is_url(path) || !access(path, F_OK))
		return read_path(in, path, err);
	if (strchr(path, ',')) {
		parts = str_split(&in->arena, path, ',', NULL);
		return read_each(in, (const char *const *)parts, input_read, err);
	}
	matches = path[strcspn(path, "*?[")] ? files_matching(&in->arena, path) : NULL;
	return matches ? read_each(in, matches, read_path, err)
		       : read_path(in, path, err);
}

int input_end(const struct input *in, struct error *err)
{
	if (!in->empty || in->sources)
		return 0;
	return error_set(err, ERR_INVALID,
			 "error reading [%.900s]: recognized file extensions are "
			 "[.json .yaml .yml]",
			 in->empty);
}

struct doc *input_add(struct input *in, cJSON *take_obj)
{
	struct source *source = arena_alloc(&in->arena, sizeof(*source));
	struct doc *doc = new_doc(in);

	source->docs = cJSON_CreateArray();
	cJSON_AddItemToArray(source->docs, take_obj);
	source->next = in->sources;
	in->sources = source;
	doc->source = source;
	doc->obj = take_obj;
	return doc;
}

bool doc_is(const struct doc *doc, const char *kind)
{
	return meta_is(doc->obj, TRAINER_GROUP, kind);
}

bool doc_is_runtime(const struct doc *doc)
{
	return doc_is(doc, RUNTIME_KIND) || doc_is(doc, CLUSTER_RUNTIME_KIND);
}

/* The kinds of Training Operator V1 and MPI Operator. */
static const char *const v1_kinds[] = { "PyTorchJob", "MPIJob",    "JAXJob", "XGBoostJob",
					"TFJob",      "PaddleJob", NULL };
#define V1_GROUP "kubeflow.org/"

static bool is_v1(const cJSON *obj)
{
	const char *version = meta_api_version(obj);

	return version && str_starts(version, V1_GROUP) && meta_kind(obj) &&
	       str_in(meta_kind(obj), v1_kinds);
}

static void refuse_v1(struct doc *doc)
{
	field_error_add(&doc->errs, FIELD_NOT_SUPPORTED, "kind",
			json_get(doc->obj, "kind"),
			"it belongs to %s; convert it: kftrainer convert %s",
			str_starts(meta_api_version(doc->obj), V1_GROUP "v2")
				? "MPI Operator"
				: "Training Operator V1",
			doc->source->name && !str_eq(doc->source->name, "stdin")
				? doc->source->name
				: "-");
}

/* Files that people have for other tools, by a field of theirs. */
static const char *other_file(const cJSON *obj)
{
	static const char *const rows[][2] = {
		{ "nbformat", "this is a notebook: make a script of it, such as with "
			      "'jupyter nbconvert --to script'" },
		{ "services", "this is a file for Docker Compose: a command goes "
			      "after '--', its image into --image" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (json_get(obj, rows[i][0]))
			return rows[i][1];
	return "every document needs an apiVersion and a kind";
}

bool doc_is_known(struct doc *doc, const struct schema *schema)
{
	static const char *const ours[] = { TRAINJOB_KIND, RUNTIME_KIND,
					    CLUSTER_RUNTIME_KIND, NULL };
	const char *kind = meta_kind(doc->obj), *version = meta_api_version(doc->obj);
	cleanup_arena struct arena arena = { 0 };
	const char *near = kind ? nearest_word(kind, ours) : NULL;

	if (schema_knows(schema, doc->obj))
		return true;
	if (is_v1(doc->obj)) {
		refuse_v1(doc);
		return false;
	}
	if (cJSON_IsString(doc->obj))
		field_error_add(&doc->errs, FIELD_REQUIRED, "kind", NULL,
				"this is neither a TrainJob nor a runtime, but a text; "
				"a command or script goes after '--'");
	else if (!kind || !version)
		field_error_add(&doc->errs, FIELD_REQUIRED, kind ? "apiVersion" : "kind",
				NULL, "%s", other_file(doc->obj));
	else if (near && str_eq(near, kind))
		field_error_add(&doc->errs, FIELD_NOT_SUPPORTED, "apiVersion",
				json_get(doc->obj, "apiVersion"),
				"the apiVersion of a %s is " TRAINER_API_VERSION, kind);
	else if (str_eq(kind, OPTIMIZATION_KIND) &&
		 str_starts(version, TRAINER_GROUP "/"))
		field_error_add(&doc->errs, FIELD_NOT_SUPPORTED, "kind",
				json_get(doc->obj, "kind"), OPTIMIZATION_COMES);
	else if (str_eq(version, TRAINER_API_VERSION))
		field_error_add(
			&doc->errs, FIELD_NOT_SUPPORTED, "kind",
			json_get(doc->obj, "kind"), "%s",
			str_in(kind, v1_kinds)
				? "set apiVersion to " V1_GROUP "v1 (MPIJob: v2beta1), "
				  "then turn it into a TrainJob with 'kftrainer convert'"
				: nearest_did_you_mean(&arena,
						       near ? near : TRAINJOB_KIND));
	return false;
}

bool doc_locate(const struct doc *doc, const char *path, int *ret_line, int *ret_column)
{
	struct source *source = doc->source;
	cleanup_arena struct arena arena = { 0 };
	char *full;

	if (!source->name)
		return false;
	if (!source->places)
		source->places = yaml_places(source->text.data, source->text.len);
	full = arena_printf(&arena, "%s%s%s", doc->prefix,
			    *doc->prefix && *path ? "." : "", path);
	return yaml_locate(source->places, doc->index, full, ret_line, ret_column);
}

const char *doc_place(struct arena *arena, const struct doc *doc, const char *path)
{
	const char *name = doc->source->name;
	int line = 0, column = 0;

	if (!name)
		return "";
	if (!doc_locate(doc, path, &line, &column))
		return arena_printf(arena, "%s: ", name);
	return arena_printf(arena, "%s:%d:%d: ", name, line, column);
}

bool doc_may_report(const struct doc *doc)
{
	bool may = doc->source->reported < INPUT_ERRORS_MAX;

	if (may)
		doc->source->reported++;
	else
		doc->source->unreported++;
	return may;
}

void doc_report_error(const struct doc *doc, const struct field_error *e,
		      const char *word, const struct reporter *to)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf line = { .max = 1 << 16 };

	if (!doc_may_report(doc))
		return;
	field_error_print(&line, e);
	reporter_line(to, "%s%s%s", word, doc_place(&arena, doc, e->path),
		      line.data ? (const char *)line.data : "");
}

size_t doc_report(const struct doc *doc, const char *word, const struct reporter *to)
{
	for (size_t i = 0; i < doc->errs.n; i++)
		doc_report_error(doc, &doc->errs.list[i], word, to);
	doc->source->unreported += doc->errs.more;
	return doc->errs.n + doc->errs.more;
}

void input_report_rest(const struct input *in, const struct reporter *to)
{
	for (struct source *s = in->sources; s; s = s->next) {
		if (s->unreported)
			reporter_line(to, "%s%s%zu more error%s", s->name ? s->name : "",
				      s->name ? ": " : "", s->unreported,
				      s->unreported == 1 ? "" : "s");
		s->unreported = 0;
	}
}

void doc_warn_ignored(const struct doc *doc, const char *counts,
		      const struct reporter *to)
{
	cleanup_arena struct arena arena = { 0 };
	const char *name = meta_name(doc->obj);

	reporter_line(to, "warning: %s%s%s%s is ignored: only %s are used",
		      doc_place(&arena, doc, ""), meta_kind(doc->obj), name ? " " : "",
		      name ? name : "", counts);
}

/* Is its structure so wrong that further errors would only be noise? */
static bool is_misshapen(const struct field_errors *errs)
{
	for (size_t i = 0; i < errs->n; i++)
		if (errs->list[i].type == FIELD_TYPE_INVALID ||
		    errs->list[i].type == FIELD_REQUIRED)
			return true;
	return field_errors_full(errs);
}

/* Does `known` say what the error says, or that a field inside a missing one is missing? */
static bool covers(const struct field_error *known, const struct field_error *e)
{
	const char *inside = str_after(known->path, e->path);

	return field_path_same(known->path, e->path) ||
	       (e->type == FIELD_REQUIRED && inside && *inside == '.');
}

void doc_add_errors(struct doc *doc, const struct field_errors *more)
{
	struct field_errors *errs = &doc->errs;
	size_t before = errs->n;

	for (size_t i = 0; i < more->n; i++) {
		const struct field_error *e = &more->list[i];
		bool known = false, full = field_errors_full(errs);

		for (size_t k = 0; k < before; k++)
			known |= covers(&errs->list[k], e);
		if (known)
			continue;
		field_error_add(errs, e->type, e->path, NULL, "%s", e->detail);
		if (e->value && !full)
			errs->list[errs->n - 1].value =
				arena_strdup(&errs->arena, e->value);
	}
}

void doc_check(struct doc *doc, const struct schema *schema)
{
	cleanup_field_errors struct field_errors more = { 0 };

	meta_drop_unset(doc->obj);
	schema_validate(schema, doc->obj, NULL, &doc->errs);
	schema_default(schema, doc->obj);
	if (!doc_is(doc, TRAINJOB_KIND) && !is_misshapen(&doc->errs))
		pipeline_validate_runtime(doc->obj, &more, NULL);
	doc_add_errors(doc, &more);
}

int input_schema(struct schema **ret, struct error *err)
{
	const struct asset *asset = asset_find("schema.json");

	if (!asset)
		return error_set(err, ERR_NOT_FOUND, "schema.json is not in this binary");
	return schema_load(ret, asset->data, asset->len, err);
}

void input_release(struct input *in)
{
	for (struct source *s = in->sources; s; s = s->next) {
		buf_release(&s->text);
		cJSON_Delete(s->docs);
		yaml_places_free(s->places);
	}
	for (size_t i = 0; i < in->n; i++) {
		field_errors_release(&in->docs[i].errs);
		cJSON_Delete(in->docs[i].given);
	}
	free(in->docs);
	arena_clear(&in->arena);
	*in = (struct input){ 0 };
}
