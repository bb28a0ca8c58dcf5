/* origin.c - the YAML of a TrainJob, and where its fields come from. */
#include "ui/origin.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "spec/input.h"
#include "trainer/info.h"
#include "trainer/runtime.h"
#include "trainer/shape.h"
#include "trainer/trainjob.h"
#include "ui/html.h"

enum { MAX_MARKS = 500, MAX_YAML = 4 << 20 };

/* The fields to mark, in a document of our own. */
struct origin {
	struct arena arena;
	cJSON *doc;
	struct {
		const char *path, *text;
	} marks[MAX_MARKS];
	size_t n;
};

static void mark(struct origin *o, const char *path, const char *text)
{
	if (o->n == MAX_MARKS)
		return;
	o->marks[o->n].path = path;
	o->marks[o->n++].text = text;
}

static const char *child_path(struct origin *o, const char *path, const char *key)
{
	bool plain = !strpbrk(key, "./[]");

	return arena_printf(&o->arena, plain ? "%s.%s" : "%s[%s]", path, key);
}

/* ---- defaults ------------------------------------------------------------------------ */

/* Remove what a default might have filled in: all members that have no parts. */
static void strip(cJSON *value)
{
	cJSON *next;

	for (cJSON *m = value->child; m; m = next) {
		next = m->next;
		if (cJSON_IsObject(m) || cJSON_IsArray(m))
			strip(m);
		else if (cJSON_IsObject(value))
			cJSON_Delete(cJSON_DetachItemViaPointer(value, m));
	}
}

/* Mark the members that the stripped copy has, by its defaults, with the same value. */
static void mark_equal(struct origin *o, const char *path, const cJSON *value,
		       const cJSON *copy)
{
	const cJSON *m, *same = copy ? copy->child : NULL;
	size_t i = 0;

	json_each(m, value) {
		if (cJSON_IsObject(value))
			same = json_member(copy, m->string);
		if (m->child && m->string)
			mark_equal(o, child_path(o, path, m->string), m, same);
		else if (m->child)
			mark_equal(o, arena_printf(&o->arena, "%s[%zu]", path, i), m,
				   same);
		else if (m->string && same && json_equal(m, same))
			mark(o, child_path(o, path, m->string), "default");
		if (cJSON_IsArray(value) && same)
			same = same->next;
		i++;
	}
}

static void mark_defaults(struct origin *o)
{
	cleanup_schema struct schema *schema = NULL;
	cleanup_json cJSON *copy = json_dup(o->doc);
	cJSON *spec = json_get(copy, "spec");

	if (!spec || input_schema(&schema, IGNORED))
		return;
	strip(spec);
	schema_default(schema, copy);
	mark_equal(o, "spec", json_get(o->doc, "spec"), json_get(copy, "spec"));
}

static void mark_server(struct origin *o)
{
	static const char *const members[] = { "creationTimestamp", "generation",
					       "resourceVersion", "uid" };

	for (size_t i = 0; i < N_ELEMENTS(members); i++)
		if (json_get(o->doc, "metadata", members[i]))
			mark(o, child_path(o, "metadata", members[i]),
			     "set by the API server");
	if (json_get(o->doc, "status"))
		mark(o, "status", "set by the controller");
}

/* ---- the runtime ----------------------------------------------------------------------- */

/* Add a member that the job leaves to its runtime. */
static void give(struct origin *o, const char *key, cJSON *take_value, const char *text)
{
	if (!take_value || json_get(o->doc, "spec", "trainer", key)) {
		cJSON_Delete(take_value);
		return;
	}
	json_put(o->doc, take_value, "spec", "trainer", key);
	mark(o, child_path(o, "spec.trainer", key), text);
}

/* Variables that the job does not set itself. */
static void give_env(struct origin *o, const cJSON *env, const char *text)
{
	cJSON *own = json_get(o->doc, "spec", "trainer", "env");
	const cJSON *e;
	int n;

	if (!own) {
		give(o, "env", json_dup(env), text);
		return;
	}
	n = cJSON_GetArraySize(own);
	json_each(e, env) {
		const char *name = json_str(e, "name");

		if (o->n == MAX_MARKS || !name || json_find_const(own, "name", name))
			continue;
		cJSON_AddItemToArray(own, json_dup(e));
		mark(o, arena_printf(&o->arena, "spec.trainer.env[%d]", n++), text);
	}
}

static void give_members(struct origin *o, const cJSON *runtime, struct info *info)
{
	static const struct {
		const char *key, *of_container;
	} members[] = { { "image", "image" },
			{ "command", "command" },
			{ "args", "args" },
			{ "resourcesPerNode", "resources" } };
	const cJSON *c = info_trainer_container(info), *ml = runtime_ml_policy(runtime);
	const char *text =
		arena_printf(&o->arena, "of the runtime %s", meta_name(runtime));
	int64_t nodes = policy_num_nodes(ml);

	if (nodes != ABSENT)
		give(o, "numNodes", json_new_int(nodes), text);
	give(o, "numProcPerNode", json_dup(json_get(policy_torch(ml), "numProcPerNode")),
	     text);
	for (size_t i = 0; i < N_ELEMENTS(members); i++)
		give(o, members[i].key, json_dup(json_get(c, members[i].of_container)),
		     text);
	give_env(o, json_get(c, "env"), text);
}

static void add_runtime(struct origin *o, const cJSON *tj, const cJSON *runtime)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_info struct info info = { 0 };

	shape_check(&errs, "", tj, shape_trainjob);
	shape_check(&errs, "", runtime, shape_runtime);
	if (!errs.n && !info_make(&info, tj, runtime, IGNORED))
		give_members(o, runtime, &info);
}

/* ---- the text ---------------------------------------------------------------------------- */

static void add_lines(struct buf *out, struct origin *o, const struct buf *text)
{
	struct yaml_places *places = yaml_places(text->data, text->len);
	cleanup_free const char **of_line = NULL;
	size_t n = 0, at = 0;

	for (size_t i = 0; i < text->len; i++)
		n += text->data[i] == '\n';
	of_line = xcalloc(n + 2, sizeof(*of_line));
	for (size_t i = 0; i < o->n; i++) {
		int line, column;

		if (yaml_locate(places, 0, o->marks[i].path, &line, &column) &&
		    (size_t)line <= n)
			of_line[line] = o->marks[i].text;
	}
	yaml_places_free(places);
	for (size_t line = 1; at < text->len; line++) {
		const char *from = (const char *)text->data + at;
		const char *end = memchr(from, '\n', text->len - at);
		size_t len = end ? (size_t)(end - from) : text->len - at;

		if (of_line[line])
			buf_adds(out, "<span class=\"added\">");
		html_text(out, from, len);
		if (of_line[line]) {
			buf_adds(out, "  # ");
			html_str(out, of_line[line]);
			buf_adds(out, "</span>");
		}
		buf_adds(out, "\n");
		at += len + 1;
	}
}

void origin_yaml(struct buf *out, const cJSON *tj, const cJSON *runtime)
{
	cleanup_free struct origin *o = xcalloc(1, sizeof(*o));
	cleanup_buf struct buf text = { .max = MAX_YAML };

	o->doc = json_dup(tj);
	mark_server(o);
	mark_defaults(o);
	if (runtime)
		add_runtime(o, tj, runtime);
	yaml_print(&text, o->doc);
	add_lines(out, o, &text);
	cJSON_Delete(o->doc);
	arena_clear(&o->arena);
}
