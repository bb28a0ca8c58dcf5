/*
 * jobenv.h - the trainer's variables of --env-file and --env.
 *
 * The format of a file is that of docker (docker/cli pkg/kvfile) and of kubectl's
 * --from-env-file: a line is NAME=VALUE, NAME or empty, or a comment after '#'. Blanks
 * before NAME are ignored; all after '=' is the value: quotes, '#', blanks and '$' are
 * part of it. NAME alone takes the caller's value; without one, docker leaves it out and
 * kubectl makes it empty: it is left out, with a warning. `export NAME=VALUE` is refused,
 * as both do.
 */
#ifndef SPEC_JOBENV_H
#define SPEC_JOBENV_H

#include "spec/job_opts.h"

enum { ENV_FILE_MAX = 1024 * 1024 };

/*
 * *ret: an array of {name, value}, each name once, owned by the caller; the last one
 * counts, and --env before --env-file. ERR_USAGE: an invalid option, or a variable that
 * is not set; ERR_INVALID: "FILE:LINE: what". Neither errors nor warnings have a value or
 * a part of a file.
 */
MUST_CHECK int job_env_read(cJSON **ret, const struct job_opts *opts,
			    const struct reporter *to, struct error *err);

#endif
