/*
 * planned.c - commands that have a name and a place, and no code yet.
 *
 * main.c answers them: --help works, running one exits 69.
 */
#include "cmd/cmd.h"

#define PLANNED(ident, name_, args_, summary_, flags_) \
	const struct cmd ident = {                     \
		.name = name_,                         \
		.args = args_,                         \
		.summary = summary_,                   \
		.flags = CMD_NOT_YET | (flags_),       \
	}

PLANNED(cmd_cache_serve, "cache-serve", "", "serve a table to training pods from memory",
	CMD_DAEMON | CMD_IN_POD | CMD_HIDDEN);
