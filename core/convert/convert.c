/* convert.c - check, build and grade one job (convert/convert.h). */
#include "convert/convert.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "convert/job.h"

#define V1_GROUP "kubeflow.org"
enum { VALUE_MAX = 100, MAX_KINDS = 8 };

const char *const grade_name[N_GRADES] = { "exact", "approximate", "lost" };

const struct role *v1_role(const struct v1_job *j, const char *name)
{
	for (size_t i = 0; i < j->n_roles; i++)
		if (str_eq(j->roles[i].name, name))
			return &j->roles[i];
	return NULL;
}

void v1_refuse(struct v1_job *j, const char *path, const cJSON *value, const char *fmt,
	       ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	field_error_add(&j->ret->errs, value ? FIELD_INVALID : FIELD_REQUIRED, path,
			value, "%s", text);
}

/* The value as JSON on one line; "..." ends a long one. */
static const char *value_text(struct arena *arena, const cJSON *value)
{
	cleanup_buf struct buf text = { .max = 4 * VALUE_MAX };
	size_t len = VALUE_MAX;

	json_print(&text, value);
	if (!text.overflowed && text.len <= VALUE_MAX)
		return arena_strdup(arena, text.data ? (const char *)text.data : "");
	if (len > text.len)
		len = text.len;
	while (len && (text.data[len] & 0xc0) == 0x80)
		len--;
	return arena_printf(arena, "%.*s...", (int)len, (const char *)text.data);
}

void v1_note(struct v1_job *j, enum grade grade, const char *path, const cJSON *value,
	     const char *text)
{
	struct convert_result *r = j->ret;

	if (r->n == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 8;
		r->notes = xreallocarray(r->notes, r->cap, sizeof(*r->notes));
	}
	r->notes[r->n++] = (struct convert_note){
		.grade = grade,
		.path = arena_strdup(&r->arena, path),
		.value = value_text(&r->arena, value),
		.text = arena_strdup(&r->arena, text),
	};
	if (grade > r->grade)
		r->grade = grade;
}

/* ---- which kind ---- */

static const struct v1_kind *kind_of(const cJSON *obj)
{
	const char *version = str_after(
		meta_api_version(obj) ? meta_api_version(obj) : "", V1_GROUP "/");
	const struct v1_kind *k = v1_kinds;

	while (k->kind &&
	       !(str_eq(k->kind, meta_kind(obj)) && str_eq(k->version, version)))
		k++;
	return k->kind ? k : NULL;
}

static bool is_job_kind(const char *kind)
{
	for (const struct v1_kind *k = v1_kinds; k->kind; k++)
		if (str_eq(k->kind, kind))
			return true;
	return false;
}

const char *v1_kind_in_text(const char *text)
{
	for (const char *p = text; (p = strstr(p, "kind:")); p++) {
		const char *word = p + strlen("kind:");

		word += strspn(word, " \"'");
		for (const struct v1_kind *k = v1_kinds; k->kind; k++)
			if (str_starts(word, k->kind) &&
			    !isalnum((unsigned char)word[strlen(k->kind)]))
				return strstr(text, V1_GROUP "/v") ? k->kind : NULL;
	}
	return NULL;
}

enum convert_what convert_what(const cJSON *obj, struct field_errors *errs)
{
	const char *names[MAX_KINDS + 1] = { 0 };
	const char *kind = meta_kind(obj), *near;
	size_t n = 0;

	for (const struct v1_kind *k = v1_kinds; k->kind && n < MAX_KINDS; k++)
		names[n++] = k->kind;
	if (!kind || !meta_api_version(obj))
		return CONVERT_OTHER;
	if (kind_of(obj))
		return CONVERT_JOB;
	/* Another version, or an operator older than Training Operator. */
	if (is_job_kind(kind)) {
		field_error_add(
			errs, FIELD_NOT_SUPPORTED, "apiVersion",
			json_get(obj, "apiVersion"),
			str_eq(kind, "MPIJob")
				? "must be kubeflow.org/v1 or kubeflow.org/v2beta1"
				: "must be kubeflow.org/v1");
		return CONVERT_UNKNOWN;
	}
	if (!meta_is(obj, V1_GROUP, kind))
		return CONVERT_OTHER;
	near = nearest_word(kind, names);
	if (str_eq(kind, "MXJob"))
		field_error_add(
			errs, FIELD_NOT_SUPPORTED, "kind", json_get(obj, "kind"),
			"there is no TrainJob for MXNet, which V1 dropped in 1.8");
	else if (near)
		field_error_add(errs, FIELD_NOT_SUPPORTED, "kind", json_get(obj, "kind"),
				"did you mean \"%s\"?", near);
	else
		return CONVERT_OTHER;
	return CONVERT_UNKNOWN;
}

/* ---- a job ---- */

static const char *restart_of(const struct v1_kind *kind, const char *role,
			      const cJSON *spec)
{
	const char *given = json_str(spec, "restartPolicy");

	if (given && *given)
		return given;
	/* The MPI Operator's launcher is a Job, which retries. */
	return kind->bit == KIND_MPI2 && str_eq(role, "Launcher") ? "OnFailure"
								  : kind->restart;
}

static const char *main_container(const struct v1_job *j, const cJSON *template)
{
	const cJSON *list = json_get(template, "spec", "containers");
	const char *want =
		j->kind->bit == KIND_MPI ? json_str(j->spec, "mainContainer") : NULL;

	want = want && *want ? want : j->kind->container;
	if (want && json_find_const(list, "name", want))
		return want;
	return j->kind->bit & (KIND_MPI | KIND_MPI2)
		       ? json_str(list ? list->child : NULL, "name")
		       : NULL;
}

static void find_roles(struct v1_job *j)
{
	const cJSON *all = json_member(j->spec, j->kind->roles_key);
	int64_t first = 0;

	for (size_t i = 0; j->kind->roles[i].name; i++) {
		const char *name = j->kind->roles[i].name;
		const cJSON *spec = json_get(all, name);
		struct role *r = &j->roles[j->n_roles];

		*r = (struct role){
			.name = name,
			.rjob = j->kind->roles[i].rjob,
			.path = arena_printf(j->arena, "spec.%s.%s", j->kind->roles_key,
					     name),
			.spec = spec,
			.template = json_get(spec, "template"),
			.n = json_int(spec, 1, "replicas"),
			.first = j->kind->one_template ? first : 0,
		};
		if (!spec || r->n == 0)
			continue;
		r->container = main_container(j, r->template);
		r->restart = restart_of(j->kind, name, spec);
		first += r->n;
		j->pods += r->n;
		j->n_roles++;
	}
}

static void convert(struct v1_job *j)
{
	v1_check_job(j);
	if (j->ret->errs.n)
		return;
	v1_build_job(j);
	if (j->ret->errs.n)
		return;
	v1_grade_fields(j);
	if (j->conf->shared && !j->ret->errs.n)
		v1_use_shared(j);
}

void v1_job_init(struct v1_job *j, const struct convert_conf *conf,
		 struct convert_result *ret, const cJSON *obj)
{
	*j = (struct v1_job){
		.conf = conf,
		.kind = kind_of(obj),
		.ret = ret,
		.arena = &ret->arena,
		.obj = obj,
		.name = meta_name(obj),
		.spec = json_get(obj, "spec"),
	};
	j->policy = json_get(j->spec, "runPolicy");
	j->elastic =
		j->kind->bit == KIND_PYTORCH ? json_get(j->spec, "elasticPolicy") : NULL;
	find_roles(j);
}

static void check_schema(const struct convert_conf *conf, const cJSON *obj,
			 struct field_errors *errs)
{
	schema_validate(kind_of(obj)->bit == KIND_MPI2 ? conf->v2beta1 : conf->v1, obj,
			NULL, errs);
}

bool convert_is_valid(const struct convert_conf *conf, const cJSON *obj)
{
	cleanup_field_errors struct field_errors errs = { 0 };

	check_schema(conf, obj, &errs);
	return !errs.n;
}

void convert_job(struct convert_result *ret, const struct convert_conf *conf,
		 const cJSON *obj)
{
	cleanup_json cJSON *copy = json_dup(obj);
	struct v1_job j = { 0 };

	*ret = (struct convert_result){ 0 };
	check_schema(conf, copy, &ret->errs);
	if (!ret->errs.n) {
		v1_job_init(&j, conf, ret, copy);
		convert(&j);
	}
	if (ret->errs.n) {
		cJSON_Delete(j.runtime);
		cJSON_Delete(j.job);
		return;
	}
	ret->runtime = j.runtime;
	ret->job = j.job;
}

void convert_result_release(struct convert_result *r)
{
	cJSON_Delete(r->runtime);
	cJSON_Delete(r->job);
	free(r->notes);
	field_errors_release(&r->errs);
	arena_clear(&r->arena);
	*r = (struct convert_result){ 0 };
}
