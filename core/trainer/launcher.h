/*
 * launcher.h - find commands that would train wrongly without an error.
 *
 * Some launchers ignore what the runtime sets: `accelerate launch` without
 * --machine_rank is rank 0 on each node, and each node trains alone. launcher.c has the
 * table. Commands that are not understood, that mention PET_ or another rank variable, or
 * that also start a launcher of the right kind, have no fault. No I/O.
 *
 * Sources: accelerate/commands/launch.py, trl/cli, lightning_fabric/cli.py,
 * torchtune/_cli/run.py and deepspeed/launcher/runner.py of the releases in
 * docs/support.md; llamafactory/launcher.py 0.9, swift/cli/main.py 4.6,
 * axolotl/cli/utils/train.py 0.19, composer/cli/launcher.py 0.32 and
 * oumi/cli/distributed_run.py 0.9.
 */
#ifndef TRAINER_LAUNCHER_H
#define TRAINER_LAUNCHER_H

#include "trainer/info.h"

/* Is the program Python, as "python3", "/usr/bin/python3.11"? */
bool launcher_is_python(const char *word);

/*
 * The text of the file that the command of a container runs, if the caller can read it;
 * in the arena, or NULL.
 */
struct code_reader {
	const char *(*read)(void *ctx, struct arena *arena, const char *path);
	void *ctx;
};

/*
 * The fault of the TrainJob's command, and the right command, as one line, in the arena
 * or static; NULL: nothing. info has passed ENFORCE_ML_POLICY. `code` may be NULL.
 */
const char *launcher_fault(struct arena *arena, struct info *info, const cJSON *tj,
			   const struct code_reader *code);
/*
 * The fault of a job without spec.trainer on several nodes, for which upstream sets no
 * variables of torch, JAX and XGBoost (kubeflow/trainer#4076). NULL: none.
 */
const char *launcher_lone_nodes(struct arena *arena, struct info *info, const cJSON *tj);
/* Likewise for `tune run` with a data set that the job downloads, but does not name. */
const char *launcher_unused_dataset(struct arena *arena, struct info *info,
				    const cJSON *tj);

#endif
