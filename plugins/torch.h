/* torch.h - what Torch and TorchTune both go by. */
#ifndef PLUGINS_TORCH_H
#define PLUGINS_TORCH_H

#include "trainer/plugin.h"

struct torch_plan {
	int64_t nodes;
	int64_t procs; /* processes on a node; 0: "auto", which is the GPUs there are */
	int64_t gpus;  /* on a node, as far as resources say */
};

/*
 * procs: spec.trainer.numProcPerNode; else "auto" where there are GPUs, else
 * the CPUs, rounded up, at least 1.
 */
struct torch_plan torch_plan(struct info *info, const cJSON *tj);

bool is_torchtune(const cJSON *tj); /* the command is exactly ["tune", "run"] */

#endif
