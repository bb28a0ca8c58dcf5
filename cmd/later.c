/*
 * later.c - commands that have a name and a place, and no code yet.
 *
 * main.c answers them: --help works, running one exits 69.
 */
#include "cmd/cmd.h"

#define LATER(ident, name_, args_, summary_, flags_) \
	const struct cmd ident = {                   \
		.name = name_,                       \
		.args = args_,                       \
		.summary = summary_,                 \
		.flags = CMD_NOT_YET | (flags_),     \
	}

LATER(cmd_cache_serve, "cache-serve", "", "serve a table to training pods from memory",
      CMD_DAEMON | CMD_IN_POD);
LATER(cmd_mpi_launch, "mpi-launch", "[--] COMMAND...",
      "start an MPI program on the job's nodes", CMD_IN_POD);

LATER(cmd_wait, "wait", "NAME", "wait until a TrainJob has finished", 0);
LATER(cmd_suspend, "suspend", "NAME...", "stop the pods of TrainJobs, keeping the jobs",
      0);
LATER(cmd_resume, "resume", "NAME...", "start suspended TrainJobs again", 0);
LATER(cmd_delete, "delete", "NAME...", "delete TrainJobs and what belongs to them", 0);
LATER(cmd_events, "events", "[NAME]", "show what happened to a TrainJob", 0);
LATER(cmd_export_model, "export-model", "NAME", "upload what a TrainJob has trained", 0);
LATER(cmd_convert, "convert", "[FILE|-]", "turn Training Operator v1 jobs into TrainJobs",
      0);
