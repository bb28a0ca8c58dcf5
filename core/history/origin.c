/* origin.c - read the TrainJob and the code of a submission (history/history.h). */
#include "base/cleanup.h"
#include "history/history_impl.h"

static int get_origin(struct history_origin *ret, struct rundir *p, struct error *err)
{
	cleanup_json cJSON *report = NULL;

	if (history_report(&report, p, err))
		return -1;
	if (history_is_alive(report))
		return error_set(
			err, ERR_BUSY,
			"TrainJob %s still runs there, by its report of %s: end it, or "
			"wait until its report is 5 minutes old",
			json_str(report, "name"), json_str(report, "updated"));
	if (history_job(&ret->trainjob, p, "job.yaml", true, err))
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

int history_origin(struct history_origin *ret, const struct history_conf *conf,
		   struct error *err)
{
	struct rundir p = { 0 };
	int rc;

	*ret = (struct history_origin){ .code = { .max = HISTORY_MAX_CODE } };
	rc = rundir_open(&p, conf->uri, conf->env, conf->ctx, err) ||
			     get_origin(ret, &p, err)
		     ? -1
		     : 0;
	rundir_close(&p);
	return rc;
}

void history_origin_release(struct history_origin *o)
{
	cJSON_Delete(o->trainjob);
	buf_release(&o->code);
}
