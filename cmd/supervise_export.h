/*
 * supervise_export.h - runtime supervise --export-to: when all ranks have succeeded, rank 0
 * uploads the model, and registers it, by export-model.
 */
#ifndef CMD_SUPERVISE_EXPORT_H
#define CMD_SUPERVISE_EXPORT_H

#include "base/opt.h"
#include "supervise/run.h"

struct finish_opts {
	const char *uri;
	const char *models;   /* of all ranks; NULL: the variable names this rank's */
	const char *uid;      /* of the TrainJob; or NULL */
	struct opt_strs args; /* of export-model */
};

/*
 * All must remain. Sets KFTRAINER_MODEL_DIR, and makes that directory. A file in it says
 * that the TrainJob, by its uid, has trained: a pod that finds it only exports.
 */
MUST_CHECK int supervise_export(struct supervise_finish *ret,
				struct report_sink *ret_sink, const struct finish_opts *o,
				uint32_t rank, struct error *err);

#endif
