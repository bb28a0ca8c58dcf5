/* mpi_launch.c - the agent that MPI launchers call instead of ssh (mpi/launch.h). */
#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/mpi_wait.h"
#include "cmd/ui/env.h"
#include "cmd/ui/termination_message.h"
#include "mpi/launch.h"
#include "mpi/ssh_args.h"

static int launch(const struct ssh_args *args, struct error *err)
{
	struct launch_end end;

	if (launch_run(args, env_variable, NULL, &end, err)) {
		cmd_complain("mpi-launch", "%s", err->msg);
		return LAUNCH_FAILED;
	}
	if (end.status == EXIT_NOT_FOUND)
		cmd_complain("mpi-launch",
			     end.by_sshd
				     ? "%s: command not found; sshd does not pass on the "
				       "container's PATH: set mpirun's --prefix, or use "
				       "mpi-worker"
				     : "%s: command not found in the container's PATH",
			     args->host);
	return end.status;
}

static int use_hostfile(const struct ssh_args *args, struct error *err)
{
	int rc = args->wait_file ? mpi_wait(args, err) : mpi_watch(args, err);

	if (rc >= 0)
		return rc;
	termination_message(err->msg);
	return -1;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct ssh_args args;

	if (ssh_args_parse(&args, &arena, argc, argv, err)) {
		cmd_complain("mpi-launch", "%s", err->msg);
		return LAUNCH_FAILED;
	}
	return args.host ? launch(&args, err) : use_hostfile(&args, err);
}

const struct cmd cmd_mpi_launch = {
	.name = "mpi-launch",
	.args = "[OPTIONS] [USER@]HOST COMMAND...",
	.summary = "run a command on a node, in place of ssh, for MPI launchers",
	.about =
		"mpirun calls this program instead of ssh. It connects to the mpi-worker or sshd\n"
		"on HOST, runs COMMAND there, copies its input and output, and exits with its\n"
		"status, or with 255 if the connection fails. It accepts the options of ssh and\n"
		"ignores those that do not apply. Links named ssh and rsh work, too. With --wait\n"
		"it only waits until every host in a host file can run commands. With --watch it\n"
		"also runs COMMAND, such as mpirun, on this machine, and fails if a host is lost\n"
		"before COMMAND ends, even if its status is 0.\n"
		"\n"
		"  -p PORT          the port; else KFTRAINER_MPI_PORT, else 2222\n"
		"  -i FILE          the job's private key; else KFTRAINER_MPI_KEY, else\n"
		"                   ~/.ssh/id_rsa\n"
		"  --timeout TIME   time limit to connect; else KFTRAINER_MPI_TIMEOUT, else\n"
		"                   ConnectTimeout x ConnectionAttempts, else 10m\n"
		"  --wait HOSTFILE  a host file of Open MPI, MPICH or Intel MPI\n"
		"  --watch HOSTFILE COMMAND...",
	.example =
		"kftrainer mpi-launch bert-node-0-1.bert hostname\n"
		"kftrainer mpi-launch --timeout 30s -p 2200 bert-node-0-1.bert nvidia-smi\n"
		"kftrainer mpi-launch --wait /etc/mpi/hostfile --timeout 10m\n"
		"kftrainer mpi-launch --watch /etc/mpi/hostfile mpirun train",
	.flags = CMD_IN_POD | CMD_HIDDEN | CMD_OWN_ARGS,
	.run = run,
};
