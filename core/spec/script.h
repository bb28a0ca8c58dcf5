/*
 * script.h - send Python code inside a TrainJob.
 *
 * The command is `sh -c LAUNCH NAME FORM N PIECE... ARGUMENT...`: the code is in
 * arguments, which no shell interprets, so that every byte arrives. LAUNCH, a constant,
 * writes it into a new directory under the first writable one of $TMPDIR, /tmp, /dev/shm,
 * /var/tmp and the current directory, and starts it: by torchrun for torch runtimes
 * (PET_NNODES), by mpirun on all ranks for Open MPI, else by python3. The current
 * directory is in PYTHONPATH.
 *
 * Linux limits an argument to 128 KiB: longer code is split. Code that is not UTF-8,
 * which JSON cannot hold, is sent as base64.
 */
#ifndef SPEC_SCRIPT_H
#define SPEC_SCRIPT_H

#include "base/json.h"

enum {
	SCRIPT_MAX = 512 * 1024, /* stored in TrainJob, JobSet, Job and each pod */
	SCRIPT_PIECE = 96 * 1024,
};

struct job_opts;
/*
 * Set the TrainJob's command to run opts->script with the arguments opts->command, by
 * opts->launch if it is set. ERR_LIMIT: the code is too long; ERR_INVALID: it is unreadable.
 */
MUST_CHECK int script_put(cJSON *trainjob, const struct job_opts *opts,
			  struct error *err);

#endif
