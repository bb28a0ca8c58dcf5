/*
 * script.h - Python code that travels inside a TrainJob.
 *
 * The command is `sh -c LAUNCH NAME FORM N PIECE... ARGUMENT...`: the code stands in
 * arguments, where no shell reads it, so that every byte arrives. LAUNCH, which is the
 * same for all, writes it into a folder of its own under $TMPDIR, /tmp, /dev/shm,
 * /var/tmp or the current folder, the first that takes it, and starts it: by torchrun
 * where the runtime is one for torch (PET_NNODES), by mpirun on all ranks where it is
 * one for Open MPI, by python3 elsewhere. The current folder is in PYTHONPATH.
 *
 * Linux takes 128 KiB an argument: longer code is several pieces. Code that is no
 * UTF-8, which JSON cannot hold, travels as base64.
 */
#ifndef SPEC_SCRIPT_H
#define SPEC_SCRIPT_H

#include "base/json.h"

enum {
	SCRIPT_MAX = 512 * 1024, /* it is stored in TrainJob, JobSet, Job and each pod */
	SCRIPT_PIECE = 96 * 1024,
};

/* ERR_LIMIT: too long; what cannot be read is ERR_INVALID. args end with NULL; or NULL. */
MUST_CHECK int script_put(cJSON *trainjob, const char *path, char **args,
			  struct error *err);

#endif
