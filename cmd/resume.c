/* resume.c - start suspended TrainJobs again (cmd/suspend.h). */
#include "cmd/cmd.h"
#include "cmd/suspend.h"

static int run(const void *values, int argc, char **argv, struct error *err)
{
	return suspend_run(values, false, argc, argv, err);
}

const struct cmd cmd_resume = {
	.name = "resume",
	.args = "JOB...",
	.summary = "resume suspended TrainJobs",
	.about = "Clears spec.suspend; the controller creates the pods again.",
	.example = "kftrainer resume bert\n"
		   "kftrainer resume --all -n team-a",
	.opts = suspend_options,
	.opts_size = sizeof(struct suspend_opts),
	.run = run,
};
