/* origin.c - read the TrainJob and the code of a submission (story/story.h). */
#include "base/cleanup.h"
#include "story/story_impl.h"

static int get_origin(struct story_origin *ret, struct rundir *p, struct error *err)
{
	cleanup_json cJSON *report = NULL;

	if (story_report(&report, p, err))
		return -1;
	if (story_is_alive(report))
		return error_set(
			err, ERR_BUSY,
			"TrainJob %s still runs there, by its report of %s: end it, or "
			"wait until nothing was heard of it for 5 minutes",
			json_str(report, "name"), json_str(report, "updated"));
	if (story_job(&ret->trainjob, p, "job.yaml", true, err))
		return err->kind == ERR_NOT_FOUND
			       ? error_set(err, ERR_NOT_FOUND,
					   "it has no job.yaml, as the TrainJob was too "
					   "long; submit its file with --run-dir and "
					   "--annotation kftrainer.io/resume=true")
			       : -1;
	return rundir_get(p, "code.tar.zst", &ret->code, err)
		       ? error_clear_if(err, ERR_NOT_FOUND)
		       : 0;
}

int story_origin(struct story_origin *ret, const struct story_conf *conf,
		 struct error *err)
{
	struct rundir p = { 0 };
	int rc;

	*ret = (struct story_origin){ .code = { .max = STORY_MAX_CODE } };
	rc = rundir_open(&p, conf->uri, conf->env, conf->ctx, err) ||
			     get_origin(ret, &p, err)
		     ? -1
		     : 0;
	rundir_close(&p);
	return rc;
}

void story_origin_release(struct story_origin *o)
{
	cJSON_Delete(o->trainjob);
	buf_release(&o->code);
}
