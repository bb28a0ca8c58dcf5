/*
 * launch.h - the command line of --launcher.
 *
 * For accelerate and deepspeed the command is `sh -c CODE LAUNCHER ARGUMENT...`: CODE
 * reads in each pod what the runtime has set (PET_*), and counts the GPUs where
 * PET_NPROC_PER_NODE is no number. Proven with the releases of docs/support.md.
 */
#ifndef SPEC_LAUNCH_H
#define SPEC_LAUNCH_H

#include "base/json.h"

enum launch {
	LAUNCH_NONE,
	LAUNCH_ACCELERATE,
	LAUNCH_DEEPSPEED,
	LAUNCH_MPIRUN,
	LAUNCH_TORCHRUN,
};
extern const char *const launch_names[]; /* ends with NULL */

/* CODE, whose arguments are options, the script and its arguments; NULL: none. */
const char *launch_code(enum launch which);
/*
 * Add the launcher and the words to the TrainJob's command. They are a script with its
 * arguments, after options of the launcher; a leading `python3 -u` is dropped.
 * ERR_USAGE: no words (NULL is fine).
 */
MUST_CHECK int launch_put(cJSON *trainjob, enum launch which, char **words,
			  struct error *err);

#endif
