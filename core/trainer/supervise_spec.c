/* supervise_spec.c - read the annotations of a supervised TrainJob (trainer/supervise_spec.h). */
#include "trainer/supervise_spec.h"

#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/export_spec.h"
#include "trainer/run_spec.h"
#include "trainer/track_spec.h"
#include "trainer/trainjob.h"
#include "trainer/workspace_spec.h"

enum { MOST_RESTARTS = 1000000 };

static int check_time(const char *key, const char *text, struct error *err)
{
	int64_t ms;

	if (!text || (!duration_parse(&ms, text, IGNORED) && ms >= 1))
		return 0;
	return error_set(err, ERR_INVALID, "%s: '%.100s' is no time such as 5s or 1m",
			 key, text);
}

/* The annotation that supervises a job which does not say whether it is; or NULL. */
static const char *cause(const cJSON *tj, const cJSON *template_annotations)
{
	static const char *const keys[] = { TRACK_ANNOTATION, RUN_DIR_ANNOTATION,
					    EXPORT_ANNOTATION };

	for (size_t i = 0; i < N_ELEMENTS(keys); i++)
		if (tj_annotation(tj, template_annotations, keys[i]))
			return keys[i];
	return NULL;
}

static int check_on(struct supervise_spec *s, const char *on, const char *export,
		    struct error *err)
{
	s->on = on ? str_eq(on, "true") : s->by != NULL;
	if (on && !s->on && !str_eq(on, "false"))
		return error_set(
			err, ERR_INVALID,
			SUPERVISE_ANNOTATION ": '%.100s' is neither true nor false", on);
	if (on && !s->on && export)
		return error_set(err, ERR_INVALID,
				 EXPORT_ANNOTATION
				 ": requires supervision: remove " SUPERVISE_ANNOTATION
				 ": \"false\"");
	return 0;
}

int supervise_spec_of(struct supervise_spec *ret, const cJSON *tj,
		      const cJSON *template_annotations, struct error *err)
{
	const char *on = tj_annotation(tj, template_annotations, SUPERVISE_ANNOTATION);
	const char *restarts =
		tj_annotation(tj, template_annotations, RESTARTS_ANNOTATION);

	*ret = (struct supervise_spec){
		.by = on ? SUPERVISE_ANNOTATION : cause(tj, template_annotations),
		.restarts = ABSENT,
		.grace = tj_annotation(tj, template_annotations, GRACE_ANNOTATION),
		.stall = tj_annotation(tj, template_annotations, STALL_ANNOTATION),
		.dev = meta_annotation(tj, DEV_ANNOTATION),
	};
	if (check_on(ret, on, tj_annotation(tj, template_annotations, EXPORT_ANNOTATION),
		     err))
		return -1;
	if (restarts && str_int(&ret->restarts, restarts, 0, MOST_RESTARTS, err))
		return error_wrap(err, RESTARTS_ANNOTATION);
	if (ret->dev && !meta_annotation(tj, WORKSPACE_ANNOTATION))
		return error_set(err, ERR_INVALID,
				 DEV_ANNOTATION
				 ": requires a workspace: 'kftrainer submit --dev "
				 "--workspace DIR'");
	ret->on |= ret->dev != NULL;
	if (ret->dev && !ret->by)
		ret->by = DEV_ANNOTATION;
	if (check_time(GRACE_ANNOTATION, ret->grace, err) ||
	    check_time(DEV_ANNOTATION, ret->dev, err))
		return -1;
	return str_eq(ret->stall, "never")
		       ? 0
		       : check_time(STALL_ANNOTATION, ret->stall, err);
}

void supervise_annotate(cJSON *tj, bool on, int64_t restarts)
{
	char text[32];

	if (on)
		meta_set_annotation(tj, SUPERVISE_ANNOTATION, "true");
	if (!restarts || meta_annotation(tj, RESTARTS_ANNOTATION))
		return;
	snprintf(text, sizeof(text), "%lld", (long long)restarts);
	meta_set_annotation(tj, RESTARTS_ANNOTATION, text);
}

void supervise_annotate_dev(cJSON *tj, int64_t idle_ms, const char *from)
{
	char text[32];

	if (idle_ms % 1000)
		snprintf(text, sizeof(text), "%lldms", (long long)idle_ms);
	else
		snprintf(text, sizeof(text), "%llds", (long long)idle_ms / 1000);
	meta_set_annotation(tj, DEV_ANNOTATION, text);
	meta_set_annotation(tj, DEV_FROM_ANNOTATION, from);
}

int supervise_check(const cJSON *tj, const cJSON *template_annotations, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct supervise_spec spec;
	struct track_spec track;
	struct run_spec run;
	struct export_spec export;

	return supervise_spec_of(&spec, tj, template_annotations, err) ||
			       run_spec_of(&run, &arena, tj, template_annotations, err) ||
			       track_spec_of(&track, &arena, tj, template_annotations,
					     err) ||
			       export_spec_of(&export, &arena, tj, template_annotations,
					      err)
		       ? -1
		       : 0;
}
