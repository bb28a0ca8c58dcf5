/* run_spec.c - read the annotations of a run directory (trainer/run_spec.h). */
#include "trainer/run_spec.h"

#include <stdlib.h>
#include <string.h>

#include "api/last_applied.h"
#include "api/meta.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/authority.h"
#include "trainer/trainjob.h"
#include "trainer/workspace_spec.h"

#define QUEUE_GROUP "kueue.x-k8s.io/"
#define QUEUE_LABEL QUEUE_GROUP "queue-name"

enum { MAX_URI = 1000, MOST_KEPT = 10000, MAX_JOB = 64 * 1024, MAX_CLAIM = 253 };

/* The rest of the URI after its scheme; NULL: not a scheme of ours. */
static const char *after_scheme(const char *uri)
{
	static const char *const schemes[] = { "s3://", "gs://", "hf://", "pvc://",
					       "file:///" };
	const char *rest = NULL;

	for (const unsigned char *p = (const void *)uri; *p; p++)
		if (*p <= ' ' || *p >= 127 || *p == '@' || *p == '$')
			return NULL;
	for (size_t i = 0; i < N_ELEMENTS(schemes) && !rest; i++)
		rest = str_after(uri, schemes[i]);
	return rest;
}

static bool is_claim(const char *name)
{
	return *name && strlen(name) <= MAX_CLAIM &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.")];
}

static int read_uri(struct run_spec *s, struct arena *arena, struct error *err)
{
	const char *rest = after_scheme(s->uri), *slash = rest ? strchr(rest, '/') : NULL;

	if (str_starts(s->uri, "file:"))
		slash = rest ? rest - 1 : NULL;
	else if (rest && !authority_is_bucket(rest))
		slash = NULL;
	if (!slash || !slash[1] || strlen(s->uri) > MAX_URI)
		return error_set(err, ERR_INVALID,
				 RUN_DIR_ANNOTATION
				 ": expected s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, "
				 "hf://ORG/NAME, pvc://CLAIM/PATH or file:///PATH, "
				 "without credentials, in ASCII without spaces and $");
	if (!str_starts(s->uri, "pvc:"))
		return 0;
	s->claim = str_slice(arena, rest, strcspn(rest, "/"));
	if (!is_claim(s->claim))
		return error_set(err, ERR_INVALID,
				 RUN_DIR_ANNOTATION ": no name of a claim in pvc://");
	return 0;
}

/* An annotation of the TrainJob's own that is for a run directory, without one; or NULL. */
static const char *alone(const cJSON *tj)
{
	static const char *const keys[] = { RUN_SECRET_ANNOTATION, RUN_KEEP_ANNOTATION };

	for (size_t i = 0; i < N_ELEMENTS(keys); i++)
		if (meta_annotation(tj, keys[i]))
			return keys[i];
	return str_eq(meta_annotation(tj, RUN_RESUME_ANNOTATION), "true")
		       ? RUN_RESUME_ANNOTATION
		       : NULL;
}

int run_spec_of(struct run_spec *ret, struct arena *arena, const cJSON *tj,
		const cJSON *template_annotations, struct error *err)
{
	const char *keep = tj_annotation(tj, template_annotations, RUN_KEEP_ANNOTATION);
	const char *resume =
		tj_annotation(tj, template_annotations, RUN_RESUME_ANNOTATION);

	*ret = (struct run_spec){
		.uri = tj_annotation(tj, template_annotations, RUN_DIR_ANNOTATION),
		.secret = tj_annotation(tj, template_annotations, RUN_SECRET_ANNOTATION),
		.resume = str_eq(resume, "true"),
	};
	if (resume && !ret->resume && !str_eq(resume, "false"))
		return error_set(err, ERR_INVALID,
				 RUN_RESUME_ANNOTATION
				 ": '%.100s' is neither true nor false",
				 resume);
	if (keep && str_int(&ret->keep, keep, 1, MOST_KEPT, err))
		return error_wrap(err, RUN_KEEP_ANNOTATION);
	if (!ret->uri && alone(tj))
		return error_set(err, ERR_INVALID, "%s: requires " RUN_DIR_ANNOTATION,
				 alone(tj));
	return ret->uri ? read_uri(ret, arena, err) : 0;
}

/* ---- the job ---- */

bool run_spec_is_secret(const char *name)
{
	static const char *const words[] = { "TOKEN", "SECRET",     "PASSWORD", "PASSWD",
					     "KEY",   "CREDENTIAL", "AUTH" };

	for (size_t i = 0; i < N_ELEMENTS(words); i++)
		if (name && strcasestr(name, words[i]))
			return true;
	return false;
}

static void hide_secrets(cJSON *doc)
{
	cJSON *child;

	if (run_spec_is_secret(json_str(doc, "name")) && json_str(doc, "value"))
		json_del(doc, JSON_PATH("value"));
	json_each(child, doc)
		hide_secrets(child);
}

/* Remove the patches that a queue adds when it admits the job. */
static void drop_queue_patches(cJSON *job)
{
	cJSON *list = json_get(job, "spec", "runtimePatches");

	for (int i = cJSON_GetArraySize(list); i-- > 0;) {
		const char *manager = patch_manager(cJSON_GetArrayItem(list, i));

		if (manager && str_starts(manager, QUEUE_GROUP))
			cJSON_DeleteItemFromArray(list, i);
	}
	if (list && !list->child)
		json_del(job, JSON_PATH("spec", "runtimePatches"));
}

/*
 * The text becomes a word of the pods' command, which cannot change while the job is
 * suspended: members that may change are left out.
 */
static cJSON *job_to_keep(const cJSON *tj)
{
	static const char *const names[] = { "name", "generateName", "namespace", "uid" };
	static const char *const others[] = {
		"kftrainer.io/supervision",  RUN_SUBMITTED_ANNOTATION,
		WORKSPACE_SERVED_ANNOTATION, WORKSPACE_AWAITED_ANNOTATION,
		WORKSPACE_STORE_ANNOTATION,  NULL
	};
	cJSON *job = cJSON_CreateObject();
	const cJSON *a;

	json_put_str(job, json_str(tj, "apiVersion"), "apiVersion");
	json_put_str(job, json_str(tj, "kind"), "kind");
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (json_str(tj, "metadata", names[i]))
			json_put_str(job, json_str(tj, "metadata", names[i]), "metadata",
				     names[i]);
	if (json_str(tj, "metadata", "labels", QUEUE_LABEL))
		json_put_str(job, json_str(tj, "metadata", "labels", QUEUE_LABEL),
			     "metadata", "labels", QUEUE_LABEL);
	json_each(a, json_get(tj, "metadata", "annotations"))
		if (str_starts(a->string, "kftrainer.io/") && !str_in(a->string, others))
			json_put(job, json_dup(a), "metadata", "annotations", a->string);
	json_put(job, json_dup(json_get(tj, "spec")), "spec");
	json_del(job, JSON_PATH("spec", "suspend"));
	drop_queue_patches(job);
	hide_secrets(job);
	return job;
}

/* The job as its user wrote it; NULL: unknown. */
static cJSON *submitted(const cJSON *tj)
{
	const char *text = meta_annotation(tj, RUN_SUBMITTED_ANNOTATION);
	cleanup_json cJSON *doc = NULL;

	text = text ? text : meta_annotation(tj, LAST_APPLIED);
	if (!text || json_parse(&doc, text, strlen(text), IGNORED) ||
	    !meta_is(doc, TRAINER_GROUP, TRAINJOB_KIND))
		return NULL;
	return job_to_keep(doc);
}

static const char *print_job(struct arena *arena, const cJSON *job)
{
	cleanup_buf struct buf text = { .max = MAX_JOB }, out = { .max = MAX_JOB };

	json_print(&text, job);
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == '$')
			buf_adds(&out, "\\u0024");
		else
			buf_add(&out, text.data + i, 1);
	return out.overflowed || text.overflowed
		       ? NULL
		       : arena_strdup(arena, (const char *)out.data);
}

const char *run_spec_job(struct arena *arena, const cJSON *tj)
{
	cleanup_json cJSON *job = job_to_keep(tj), *given = submitted(tj);
	const char *text;

	if (!given)
		return print_job(arena, job);
	json_put(job, STEAL(given), RUN_SUBMITTED);
	text = print_job(arena, job);
	if (text)
		return text;
	json_del(job, JSON_PATH(RUN_SUBMITTED));
	return print_job(arena, job);
}

void run_spec_keep_submitted(cJSON *tj)
{
	cleanup_buf struct buf text = { .max = MAX_JOB };

	if (!meta_annotation(tj, RUN_DIR_ANNOTATION) ||
	    meta_annotation(tj, RUN_SUBMITTED_ANNOTATION))
		return;
	json_print(&text, tj);
	if (!text.overflowed)
		meta_set_annotation(tj, RUN_SUBMITTED_ANNOTATION,
				    (const char *)text.data);
}
