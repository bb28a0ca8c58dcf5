/*
 * golden FOLDER...: run the cases of the folders (README beside this file).
 * golden --export CASE FOLDER: write its input and output there, as files.
 *
 * A folder is a case when it holds case.yaml, else its folders are. Prints TAP;
 * the status is 1 when a case failed.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "assets/assets.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "tests/golden/golden.h"

struct golden {
	struct schema *schema;
	int n, failed;
	bool show; /* print the objects of every case */
};

/* ---- reading a case ------------------------------------------------------------------ */

/*
 * Recorded cases were written by an emitter of YAML 1.2: a bare y or n is a
 * string there, where YAML 1.1 has a boolean. Two letters more, and both agree.
 */
static void quote_letters(struct buf *out, const char *text)
{
	for (; *text; text++) {
		bool bare = strchr("yYnN", *text) && out->len > 1 &&
			    out->data[out->len - 1] == ' ' &&
			    (text[1] == ':' ||
			     (text[1] == '\n' && strchr(":-", out->data[out->len - 2])));

		buf_printf(out, bare ? "'%c'" : "%c", *text);
	}
}

static cJSON *load(const char *dir, const char *name, bool yaml, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf text = { .max = 16 << 20 };
	cleanup_buf struct buf quoted = { .max = 16 << 20 };
	cleanup_json cJSON *docs = NULL;
	const char *path = path_join(&arena, dir, name);
	cJSON *ret = NULL;

	if (file_read(&text, path, err))
		return NULL;
	if (!yaml)
		return json_parse(&ret, text.data, text.len, err) ? NULL : ret;
	quote_letters(&quoted, text.data ? (const char *)text.data : "");
	if (yaml_parse(&docs, quoted.data, quoted.len, err))
		return NULL;
	return cJSON_DetachItemFromArray(docs, 0);
}

static void replace_namespace(cJSON *node)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *child;
	char *at;

	json_each(child, node)
		replace_namespace(child);
	while (cJSON_IsString(node) && (at = strstr(node->valuestring, "${NS}")))
		cJSON_SetValuestring(
			node, arena_printf(&arena, "%s%s%s",
					   str_slice(&arena, node->valuestring,
						     (size_t)(at - node->valuestring)),
					   NAMESPACE, at + strlen("${NS}")));
}

/* Why this step is none for a pure function, or NULL. */
static const char *why_not_step(const cJSON *step)
{
	static const char *const ours[] = {
		"TrainJob",      "TrainingRuntime",       "ClusterTrainingRuntime",
		"PriorityClass", "ResourceClaimTemplate", NULL
	};
	static const char *const steps[] = { "create", "check",  "sleep",
					     "patch",  "delete", NULL };
	const char *verb = step->child ? step->child->string : "";
	const char *kind = meta_kind(json_get(step, "create"));
	const char *patched = json_str(step, "patch", "kind");
	const cJSON *deleted = json_get(step, "delete");

	if (!str_in(verb, steps) || (patched && !json_get(step, "patch", "merge")))
		return "needs a cluster: it waits, or edits a status";
	if (kind && !str_in(kind, ours))
		return "needs a controller: other objects are in its way";
	if (patched && str_ends(patched, "Runtime"))
		return "needs a controller: it keeps a snapshot of the runtime";
	if (deleted && !str_starts(json_str(deleted, "kind"), "PodGroup") &&
	    !str_eq(json_str(deleted, "kind"), "JobSet"))
		return "needs a controller: it deletes what the pipeline does not make";
	return NULL;
}

static const char *why_not(const cJSON *test)
{
	const cJSON *step;
	const char *why = NULL;

	json_each(step, json_get(test, "steps"))
		why = why ? why : why_not_step(step);
	return why;
}

/* ---- comparing ------------------------------------------------------------------------ */

/* Every piece of text must be found in one of the errors. */
static void check_says(struct buf *out, int n, const cJSON *pieces,
		       const struct answer *got)
{
	const cJSON *piece, *text;

	json_each(piece, pieces) {
		bool found = false;

		json_each(text, got->texts)
			found |= strstr(text->valuestring, piece->valuestring) != NULL;
		if (!found)
			buf_printf(out, "step %d: no error says \"%s\"\n", n,
				   piece->valuestring);
	}
}

/* "path: type" of each error: listed, or within upstream's message. Or NULL. */
static cJSON *expected_errors(const cJSON *expected)
{
	if (json_get(expected, "errors"))
		return sorted_set(json_dup(json_get(expected, "errors")));
	if (json_get(expected, "message"))
		return errors_of_message(json_str(expected, "message"));
	return NULL;
}

static void check_step(struct buf *out, int n, const cJSON *expected,
		       const struct answer *got)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *errors = expected_errors(expected);
	int64_t code = json_int(expected, 0, "code");
	int warnings = (int)json_int(expected, 0, "warnings");
	cleanup_free char *g = got->texts ? json_text(got->texts) : NULL;
	cleanup_free char *e = errors ? json_text(errors) : NULL;

	if (cJSON_IsArray(json_get(expected, "warnings")))
		warnings = cJSON_GetArraySize(json_get(expected, "warnings"));
	if (code ? code != got->code : got->code >= 300)
		buf_printf(out, "step %d: expected %s, got %d %s\n", n,
			   code ? arena_printf(&arena, "%d", (int)code) : "success",
			   got->code, g ? g : "");
	else if (errors && code != 400 && !json_equal(errors, got->errors))
		buf_printf(out, "step %d: errors: expected %s, got %s\n", n, e, g);
	check_says(out, n, json_get(expected, "says"), got);
	if (warnings != got->warnings)
		buf_printf(out, "step %d: expected %d warnings, got %d\n", n, warnings,
			   got->warnings);
}

/* What a recorded check has: the TrainJobs and all that was made of them. */
static cJSON *state(const struct world *w)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *all = cJSON_CreateObject();
	const cJSON *obj;

	json_each(obj, w->stored)
		if (str_eq(meta_kind(obj), "TrainJob"))
			json_put(all, normal_got(obj), object_title(&arena, obj));
	json_each(obj, w->built)
		json_put(all, normal_got(obj), object_title(&arena, obj));
	return all;
}

static void check_all(struct buf *out, const char *label, const cJSON *expected,
		      const cJSON *got)
{
	cleanup_json cJSON *want = cJSON_CreateObject();
	cleanup_buf struct buf lines = { .max = 1 << 20 };
	const cJSON *obj;

	json_each(obj, expected) {
		cJSON *normal = normal_expected(obj->string, obj);

		if (normal)
			json_put(want, normal, obj->string);
	}
	diff_docs(&lines, "", want, got);
	if (lines.len)
		buf_printf(out, "check %s:\n%s", label, (char *)lines.data);
}

/* "JobSet/tj spec.network", or "pod:JOB x" for that job's pod spec in JobSet/tj. */
static const cJSON *lookup(const cJSON *all, const char *path)
{
	cleanup_arena struct arena arena = { 0 };
	size_t n = strcspn(path, " ");
	const char *title = str_slice(&arena, path, n);
	const char *rest = path[n] ? path + n + 1 : "";
	const char *job = str_after(title, "pod:");

	if (!job)
		return node_at(json_get(all, title), rest);
	rest = arena_printf(&arena,
			    "spec.replicatedJobs[%s].template.spec.template.spec%s%s",
			    job, *rest && *rest != '[' ? "." : "", rest);
	return node_at(json_get(all, "JobSet/tj"), rest);
}

static void check_parts(struct buf *out, const struct world *w, const cJSON *expected,
			const cJSON *got)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *built = cJSON_CreateArray();
	cleanup_json cJSON *raw = cJSON_CreateObject();
	const cJSON *part;

	json_each(part, w->built) {
		const char *title = object_title(&arena, part);

		cJSON_AddItemToArray(built, cJSON_CreateString(title));
		json_put(raw, json_dup(part), title);
	}
	if (json_get(expected, "objects"))
		diff_docs(out, "objects", json_get(expected, "objects"), built);
	json_each(part, json_get(expected, "equal")) {
		const cJSON *want = cJSON_IsNull(part) ? NULL : part;

		diff_docs(out, part->string, want, lookup(got, part->string));
	}
	json_each(part, json_get(expected, "raw")) {
		const cJSON *want = cJSON_IsNull(part) ? NULL : part;

		diff_docs(out, part->string, want, lookup(raw, part->string));
	}
}

static bool is_partial(const cJSON *expected)
{
	return !json_get(expected, "checks");
}

/* The answer that step n shall get. */
static const cJSON *step_of(const cJSON *expected, int n)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *step;

	if (is_partial(expected))
		return json_get(expected, "answers", arena_printf(&arena, "%d", n));
	json_each(step, json_get(expected, "steps")) {
		const char *title = json_str(step, "step");

		if (title && strtol(title, NULL, 10) == n)
			return step;
	}
	return NULL;
}

/* What a step asks of the API server; false for one that asks nothing. */
static bool ask(struct world *w, const cJSON *step, struct answer *answer)
{
	if (json_get(step, "create"))
		world_create(w, json_get(step, "create"), answer);
	else if (json_get(step, "patch"))
		world_patch(w, json_get(step, "patch"), answer);
	else if (json_get(step, "delete"))
		world_delete(w, json_get(step, "delete"), answer);
	else
		return false;
	return true;
}

static void run_steps(struct buf *out, struct world *w, const cJSON *test,
		      const cJSON *expected)
{
	const cJSON *step;
	const char *label = NULL;
	int n = 0;

	json_each(step, json_get(test, "steps")) {
		cleanup_answer struct answer answer = { 0 };

		n++;
		if (ask(w, step, &answer))
			check_step(out, n, step_of(expected, n), &answer);
		label = json_str(step, "check");
		if (label && !is_partial(expected)) {
			cleanup_json cJSON *got = state(w);

			check_all(out, label, json_get(expected, "checks", label), got);
		}
	}
	if (!label && !is_partial(expected)) {
		cleanup_json cJSON *got = state(w);

		check_all(out, "final", json_get(expected, "checks", "final"), got);
	}
}

static void run_case(struct golden *g, const cJSON *test, const cJSON *expected,
		     struct buf *out)
{
	cleanup_world struct world w = { 0 };

	world_init(&w, g->schema);
	w.env.status_server = json_bool(test, false, "options", "statusServer");
	w.env.claims_off = !json_bool(test, true, "options", "resourceClaims");
	run_steps(out, &w, test, expected);
	if (is_partial(expected)) {
		cleanup_json cJSON *got = state(&w);

		check_parts(out, &w, expected, got);
	}
	if (out->len && w.trouble[0])
		buf_printf(out, "the pipeline failed: %s\n", w.trouble);
	if (g->show) {
		cleanup_json cJSON *got = state(&w);
		cleanup_buf struct buf text = { .max = 16 << 20 };

		json_print_pretty(&text, got);
		fprintf(stderr, "%s", (char *)text.data);
	}
}

/* ---- for tests of the binary: the case as files, and what must come out -------------- */

static int write_list(const char *dir, const char *name, cJSON *take_items,
		      struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf text = { .max = 16 << 20 };
	cleanup_json cJSON *list = cJSON_CreateObject();

	json_put_str(list, "v1", "apiVersion");
	json_put_str(list, "List", "kind");
	json_put(list, take_items, "items");
	json_print_pretty(&text, list);
	return file_write(path_join(&arena, dir, name), text.data, text.len, 0644, err);
}

/* runtimes.json, job.json, and objects.json as `submit --dry-run -o json` shows it. */
static int export_case(struct golden *g, const char *dir, const char *to,
		       struct error *err)
{
	cleanup_json cJSON *test = load(dir, "case.yaml", true, err);
	cleanup_world struct world w = { 0 };
	cJSON *jobs = cJSON_CreateArray(), *runtimes = cJSON_CreateArray();
	const cJSON *step, *obj;

	if (!test)
		return -1;
	replace_namespace(test);
	world_init(&w, g->schema);
	w.client = true;
	json_each(step, json_get(test, "steps")) {
		cleanup_answer struct answer answer = { 0 };
		bool job;

		obj = json_get(step, "create");
		if (!obj)
			continue;
		job = str_eq(meta_kind(obj), "TrainJob");
		cJSON_AddItemToArray(job ? jobs : runtimes, json_dup(obj));
		world_create(&w, obj, &answer);
	}
	if (write_list(to, "job.json", jobs, err) ||
	    write_list(to, "runtimes.json", runtimes, err))
		return -1;
	return write_list(to, "objects.json", json_dup(w.built), err);
}

/* ---- the folders ----------------------------------------------------------------------- */

static void tell(const char *lines)
{
	cleanup_arena struct arena arena = { 0 };
	char **line = str_split(&arena, lines, '\n', NULL);

	for (; *line; line++)
		if (**line)
			printf("# %s\n", *line);
}

static void run_folder(struct golden *g, const char *dir)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf out = { .max = 1 << 20 };
	struct error err = { 0 };
	cleanup_json cJSON *test = load(dir, "case.yaml", true, &err);
	cleanup_json cJSON *expected =
		test ? load(dir, "expected.json", false, &err) : NULL;
	const char *why = test ? why_not(test) : NULL;
	bool defect = file_exists(path_join(&arena, dir, "DEFECT"));
	bool known;

	g->n++;
	if (why) {
		printf("ok %d - %s # SKIP %s\n", g->n, path_base(dir), why);
		return;
	}
	if (!expected)
		buf_printf(&out, "%s\n", err.msg);
	else {
		replace_namespace(test);
		run_case(g, test, expected, &out);
	}
	/* A recording of upstream's own fault is nothing to live up to. */
	known = out.len && defect &&
		!(is_partial(expected) || json_bool(expected, false, "better"));
	printf("%sok %d - %s%s\n", out.len && !known ? "not " : "", g->n, path_base(dir),
	       known ? " differs from upstream's defect" : "");
	g->failed += out.len && !known;
	if (out.len)
		tell((const char *)out.data);
}

static int no_dots(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void run_path(struct golden *g, const char *path)
{
	cleanup_arena struct arena arena = { 0 };
	struct dirent **entries = NULL;
	int n = 0;

	if (file_exists(path_join(&arena, path, "case.yaml"))) {
		run_folder(g, path);
		return;
	}
	n = scandir(path, &entries, no_dots, alphasort);
	if (n < 0) {
		g->n++;
		g->failed++;
		printf("not ok %d - %s cannot be read\n", g->n, path);
	}
	for (int i = 0; i < n; i++) {
		const char *dir = path_join(&arena, path, entries[i]->d_name);

		if (file_exists(path_join(&arena, dir, "case.yaml")))
			run_folder(g, dir);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = { "tests/golden/upstream",
					     "tests/golden/own" };
	struct golden g = { .show = getenv("GOLDEN_SHOW") != NULL };
	const struct asset *source = asset_find("schema.json");
	struct error err = { 0 };

	if (schema_load(&g.schema, source->data, source->len, &err)) {
		fprintf(stderr, "schema.json: %s\n", err.msg);
		return 2;
	}
	if (argc == 4 && str_eq(argv[1], "--export")) {
		if (export_case(&g, argv[2], argv[3], &err))
			fprintf(stderr, "%s\n", err.msg);
		schema_free(g.schema);
		return err.kind != ERR_NONE;
	}
	for (int i = 1; i < argc; i++)
		run_path(&g, argv[i]);
	for (int i = 0; argc == 1 && i < 2; i++)
		run_path(&g, usual[i]);
	printf("1..%d\n", g.n);
	schema_free(g.schema);
	return g.failed != 0;
}
