/*
 * submit_file.h - the arguments of `submit`: a file with TrainJobs, or Python code.
 */
#ifndef CMD_SUBMIT_FILE_H
#define CMD_SUBMIT_FILE_H

#include "spec/job_opts.h"

/*
 * FILE may be an argument or given by -f; without a file there must be a runtime. Python
 * code becomes part of the job.
 */
MUST_CHECK int submit_file(struct job_opts *job, int argc, char **argv,
			   struct error *err);

#endif
