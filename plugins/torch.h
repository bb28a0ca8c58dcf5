/* torch.h - the number of processes and GPUs, for Torch and TorchTune. */
#ifndef PLUGINS_TORCH_H
#define PLUGINS_TORCH_H

#include "trainer/plugin.h"

struct torch_plan {
	int64_t nodes;
	int64_t procs; /* processes on a node; 0: "auto", the number of GPUs */
	int64_t gpus;  /* GPUs on a node, by resources and claims; 0: none or unknown */
};

/*
 * procs: spec.trainer.numProcPerNode; else "auto" if there are GPUs (their number, if
 * they are claimed); else the CPUs, rounded up, at least 1.
 */
struct torch_plan torch_plan(struct info *info, const cJSON *tj);

bool torch_is_torchtune(const cJSON *tj); /* the command is exactly ["tune", "run"] */

#endif
