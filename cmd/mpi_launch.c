/* mpi_launch.c - mpi-launch: the agent that MPI launchers call instead of ssh. */
#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/ui/env.h"
#include "mpi/launch.h"
#include "mpi/ssh_args.h"

static int run(const void *values, int argc, char **argv, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct ssh_args args;
	int status = LAUNCH_FAILED;

	(void)values;
	if (ssh_args_parse(&args, &arena, argc, argv, err) ||
	    launch_run(&args, variable, NULL, &status, err)) {
		cmd_complain("mpi-launch", "%s", err->msg);
		return LAUNCH_FAILED;
	}
	return status;
}

const struct cmd cmd_mpi_launch = {
	.name = "mpi-launch",
	.args = "[OPTIONS] [USER@]HOST COMMAND...",
	.summary = "run a command on a node, as MPI launchers ask ssh to",
	.about =
		"mpirun calls this program instead of ssh. It connects to the mpi-worker "
		"on\n"
		"HOST, runs COMMAND there with /bin/sh, copies its input and output, and "
		"exits\n"
		"with its status, or with 255 if there is no connection. It takes the "
		"options of\n"
		"ssh and skips those that do not matter here. Links named ssh and rsh "
		"work, too.\n"
		"\n"
		"  -p PORT          else KFTRAINER_MPI_PORT, else 2222\n"
		"  -i FILE          the job's private key; else KFTRAINER_MPI_KEY, else\n"
		"                   ~/.ssh/id_rsa\n"
		"  --timeout TIME   to connect and authenticate; else "
		"KFTRAINER_MPI_TIMEOUT,\n"
		"                   else ConnectTimeout x ConnectionAttempts, else 10m",
	.example = "kftrainer mpi-launch bert-node-0-1.bert hostname\n"
		   "kftrainer mpi-launch --timeout 30s -p 2200 bert-node-0-1.bert "
		   "nvidia-smi",
	.flags = CMD_IN_POD | CMD_HIDDEN | CMD_OWN_ARGS,
	.run = run,
};
