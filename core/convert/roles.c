/*
 * roles.c - convert and merge the pod templates of V1's replicas (convert/job.h).
 *
 * Ranks of one replicatedJob share a template. All pods get what only one role has; where
 * both differ, the workers' value is used, except for what a container runs: a difference
 * there is refused.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "convert/job.h"
#include "convert/names.h"
#include "trainer/api.h"
#include "trainer/podspec.h"
#include "trainer/shape.h"

/* ---- the template of one role ---- */

/* Rename the container in all references, such as those of resourceFieldRef. */
static void rename_container(cJSON *node, const char *from)
{
	cJSON *child;

	json_each(child, node) {
		if (str_eq(child->string, "containerName") &&
		    str_eq(cJSON_GetStringValue(child), from))
			cJSON_SetValuestring(child, NODE);
		rename_container(child, from);
	}
}

cJSON *v1_role_template(struct v1_job *j, const struct role *role)
{
	cJSON *ret = json_dup(role->template), *spec = json_obj(ret, "spec"), *c;

	drop_nulls(ret);
	rename_container(spec, role->container);
	json_del(ret, JSON_PATH("apiVersion"));
	json_del(ret, JSON_PATH("kind"));
	/* JobSet sets both. */
	json_del(spec, JSON_PATH("hostname"));
	json_del(spec, JSON_PATH("subdomain"));
	json_del(spec, JSON_PATH("restartPolicy"));
	json_each(c, json_get(spec, "containers"))
		v1_env_drop(j, role, c);
	json_put_str(pod_container(spec, role->container), NODE, "name");
	v1_rename_fields(j, NULL, NULL, ret);
	return ret;
}

/* ---- merge two templates ---- */

struct merge {
	struct v1_job *j;
	const struct role *from, *into;
};

/* Append the names or words of `list` that `other` lacks: " -a", " +b". */
static void add_missing(struct buf *out, char sign, const cJSON *list, const cJSON *other)
{
	const cJSON *e, *o;

	json_each(e, list) {
		bool found = false;

		json_each(o, other)
			found = found || json_equal(e, o);
		if (found)
			continue;
		buf_printf(out, " %c", sign);
		json_print(out, e);
	}
}

static void refuse_difference(const struct merge *m, const char *path, const cJSON *mine,
			      const cJSON *theirs)
{
	cleanup_buf struct buf diff = { .max = 400 };
	const char *at = arena_printf(m->j->arena, "%s.%s", m->from->path, path);

	if (cJSON_IsArray(mine) || cJSON_IsArray(theirs)) {
		add_missing(&diff, '-', mine, theirs);
		add_missing(&diff, '+', theirs, mine);
	}
	if (!diff.len) {
		buf_adds(&diff, " -");
		json_print(&diff, mine);
		buf_adds(&diff, " +");
		json_print(&diff, theirs);
	}
	v1_refuse(m->j, at, mine ? mine : theirs,
		  "%s and %s differ, but all ranks of a TrainJob run the same:%s%s",
		  m->from->name, m->into->name, diff.data ? (const char *)diff.data : "",
		  diff.overflowed ? " ..." : "");
}

/* Does the field decide what a container runs? */
static bool is_run(const char *pattern)
{
	static const char *const fields[] = {
		"spec.containers[].image",
		"spec.containers[].command",
		"spec.containers[].args",
		"spec.containers[].env",
		"spec.initContainers[].image",
		"spec.initContainers[].command",
		"spec.initContainers[].args",
		"spec.initContainers[].env",
		NULL,
	};

	return str_in(pattern, fields);
}

static bool is_named_list(const cJSON *list)
{
	const cJSON *e;

	json_each(e, list)
		if (!podspec_element_name(e))
			return false;
	return cJSON_IsArray(list) && list->child;
}

struct place {
	const char *path, *pattern; /* below the template */
};

static void merge_objects(const struct merge *m, const struct place *at, cJSON *into,
			  const cJSON *from);

static const char *under(const struct merge *m, const struct role *role, const char *path)
{
	return arena_printf(m->j->arena, "%s.template.%s", role->path, path);
}

static void note_own(const struct merge *m, const char *path, const cJSON *into,
		     const cJSON *from)
{
	const cJSON *e;
	size_t i = 0;

	json_each(e, into) {
		if (!json_find_const(from, "name", podspec_element_name(e)))
			v1_note(m->j, GRADE_APPROXIMATE,
				under(m, m->into,
				      arena_printf(m->j->arena, "%s[%zu]", path, i)),
				e, "all pods get it, including the master");
		i++;
	}
}

static void merge_lists(const struct merge *m, const struct place *at, cJSON *into,
			const cJSON *from)
{
	const cJSON *e;
	size_t i = 0;

	note_own(m, at->path, into, from);
	json_each(e, from) {
		cJSON *same = json_find(into, "name", podspec_element_name(e));
		struct place here = {
			arena_printf(m->j->arena, "%s[%zu]", at->path, i++),
			arena_printf(m->j->arena, "%s[]", at->pattern),
		};

		if (same) {
			merge_objects(m, &here, same, e);
			continue;
		}
		v1_note(m->j, GRADE_APPROXIMATE, under(m, m->from, here.path), e,
			"all pods get it, including the workers");
		cJSON_AddItemToArray(into, json_dup(e));
	}
}

static void merge_values(const struct merge *m, const struct place *at, cJSON *into,
			 const cJSON *from)
{
	if (json_equal(into, from))
		return;
	if (cJSON_IsObject(into) && cJSON_IsObject(from))
		merge_objects(m, at, into, from);
	else if (is_named_list(into) && is_named_list(from))
		merge_lists(m, at, into, from);
	else
		v1_note(m->j, GRADE_LOST, under(m, m->from, at->path), from,
			arena_printf(m->j->arena, "all pods get the %s's",
				     m->into->name));
}

static void merge_member(const struct merge *m, const struct place *at, cJSON *into,
			 const cJSON *from, const char *key)
{
	struct place here = {
		*at->path ? arena_printf(m->j->arena, "%s.%s", at->path, key) : key,
		*at->pattern ? arena_printf(m->j->arena, "%s.%s", at->pattern, key) : key,
	};
	const cJSON *mine = json_member(from, key);
	cJSON *theirs = json_member(into, key);

	if (is_run(here.pattern)) {
		if (!mine || !theirs || !json_equal(mine, theirs))
			refuse_difference(
				m, arena_printf(m->j->arena, "template.%s", here.path),
				mine, theirs);
	} else if (mine && theirs) {
		merge_values(m, &here, theirs, mine);
	} else if (mine) {
		v1_note(m->j, GRADE_APPROXIMATE, under(m, m->from, here.path), mine,
			"all pods get it, including the workers");
		cJSON_AddItemToObject(into, key, json_dup(mine));
	} else {
		v1_note(m->j, GRADE_APPROXIMATE, under(m, m->into, here.path), theirs,
			"all pods get it, including the master");
	}
}

static void merge_objects(const struct merge *m, const struct place *at, cJSON *into,
			  const cJSON *from)
{
	cleanup_json cJSON *before = json_dup(into);
	const cJSON *e;

	json_each(e, from)
		merge_member(m, at, into, from, e->string);
	json_each(e, before)
		if (!json_member(from, e->string))
			merge_member(m, at, into, from, e->string);
}

cJSON *v1_merged_template(struct v1_job *j)
{
	const struct role *worker = &j->roles[j->n_roles - 1];
	struct merge m = { j, &j->roles[0], worker };
	cJSON *ret = v1_role_template(j, worker);
	cleanup_json cJSON *other = NULL;

	if (m.from == m.into)
		return ret;
	other = v1_role_template(j, m.from);
	merge_objects(&m, &(struct place){ "", "" }, ret, other);
	return ret;
}
