/* mentions.c - names of jobs in other documents (convert/convert.h). */
#include <ctype.h>
#include <string.h>

#include "api/meta.h"
#include "base/str.h"
#include "convert/names.h"

enum { NAME_MAX_LEN = 63, JOBS_MAX = 8 /* in one text */ };

struct search {
	struct convert_result *ret;
	const struct convert_conf *conf;
	const struct map *jobs;
	const char *ns; /* the document's, or NULL */
};

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '-';
}

/* The job whose name and a '-' begin the word; NULL: none. */
static const cJSON *job_of_word(const struct search *s, const char *word)
{
	char name[NAME_MAX_LEN + 1];

	for (size_t n = 0; n < NAME_MAX_LEN && is_name(word[n]); n++) {
		const cJSON *job;

		name[n] = word[n];
		name[n + 1] = '\0';
		if (word[n + 1] != '-')
			continue;
		job = map_get(s->jobs, name);
		if (job && (!s->ns || !meta_namespace(job) ||
			    str_eq(s->ns, meta_namespace(job))))
			return job;
	}
	return NULL;
}

static void note_names(struct search *s, const cJSON *job, const char *path,
		       const cJSON *value)
{
	struct v1_job j;
	struct renamed r;

	v1_job_init(&j, s->conf, s->ret, job);
	r = v1_rename_in_text(&j, value->valuestring);
	if (r.now != value->valuestring)
		v1_note(&j, GRADE_LOST, path, value,
			"this document is not changed, but the names of the job's pods are");
	else if (r.why)
		v1_note(&j, r.grade, path, value, r.why);
}

static void search_text(struct search *s, const char *path, const cJSON *value)
{
	const cJSON *last = NULL;
	int n = 0;

	for (const char *p = value->valuestring; *p && n < JOBS_MAX;) {
		const cJSON *job = job_of_word(s, p);

		if (job && job != last) {
			note_names(s, job, path, value);
			last = job;
			n++;
		}
		while (is_name(*p))
			p++;
		while (*p && !is_name(*p))
			p++;
	}
}

/* Grade a selector of a job's pods, `training.kubeflow.org/job-name: JOB`. */
static void search_label(struct search *s, const char *path, const cJSON *value)
{
	const cJSON *job = map_get(s->jobs, value->valuestring);
	struct v1_job j;

	if (!job || !v1_is_operator_label(value->string))
		return;
	v1_job_init(&j, s->conf, s->ret, job);
	v1_note(&j, GRADE_LOST, path, value, V1_NEW_LABELS);
}

/* A job within the document, as in a Katib Experiment, or in the text of a workflow. */
static bool search_job(struct search *s, const char *path, const cJSON *node)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	struct arena *arena = &s->ret->arena;
	struct v1_job j = { .ret = s->ret };
	const char *kind = NULL;

	if (cJSON_IsString(node))
		kind = v1_kind_in_text(node->valuestring);
	else if (cJSON_IsObject(node) && convert_what(node, &errs) != CONVERT_OTHER)
		kind = meta_kind(node);
	if (!kind)
		return false;
	v1_note(&j, GRADE_LOST, path, node,
		arena_printf(
			arena,
			"this document is not changed: convert the %s in it by itself",
			kind));
	return true;
}

static void search_node(struct search *s, const char *path, const cJSON *node)
{
	struct arena *arena = &s->ret->arena;
	const cJSON *child;
	size_t i = 0;

	if (search_job(s, path, node))
		return;
	if (cJSON_IsString(node)) {
		search_text(s, path, node);
		if (node->string)
			search_label(s, path, node);
	}
	json_each(child, node) {
		const char *key = child->string;

		if (cJSON_IsString(child) || child->child)
			search_node(
				s,
				key ? arena_printf(arena,
						   strchr(key, '.') ? "%s[%s]" : "%s.%s",
						   path, key)
				    : arena_printf(arena, "%s[%zu]", path, i),
				child);
		i++;
	}
}

void convert_mentions(struct convert_result *ret, const struct convert_conf *conf,
		      const struct map *jobs, const cJSON *other)
{
	struct search s = { ret, conf, jobs, meta_namespace(other) };
	const cJSON *member;

	json_each(member, other)
		if (!str_eq(member->string, "metadata"))
			search_node(&s, member->string, member);
}
