/*
 * cmd.h - the commands of this program.
 *
 * A command is one file in cmd/ with one constant struct in it, and one line
 * in cmd/cmds.c. help, completion and the man page check read that table.
 * Only files of cmd/ print to stdout.
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/opt.h"
#include "spec/reporter.h"

enum cmd_flags {
	CMD_DAEMON = 1 << 0, /* runs until SIGTERM; logs in JSON lines */
	CMD_IN_POD = 1 << 1, /* for a container's command; help lists it apart */
	CMD_HIDDEN = 1 << 2, /* run only by our own objects and programs; not listed */
	/*
	 * Parses its arguments itself (argv[0] is its name); --help is only recognized as
	 * the first.
	 */
	CMD_OWN_ARGS = 1 << 3,
};

/* Exit codes; kftrainer(1) lists them. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,      /* the job or the operation failed */
	EXIT_BAD_INPUT = 2,   /* command line or file is wrong; nothing was done */
	EXIT_APPROXIMATE = 3, /* converted; some fields behave slightly differently */
	EXIT_LOST = 4,        /* converted; some fields are lost */
	EXIT_TIMED_OUT = 124, /* as timeout(1): the job continues */
	/* As env(1) and shells, of a program that runs a command: */
	EXIT_OURS = 125,       /* the program itself failed */
	EXIT_CANNOT_RUN = 126, /* the command cannot be run */
	EXIT_NOT_FOUND = 127,  /* the command does not exist */
	EXIT_BY_SIGNAL = 128,  /* plus the signal's number */
};

struct cmd {
	const char *name;
	const char *args;    /* "[FILE|-] [-- COMMAND...]" */
	const char *summary; /* one line, no full stop */
	const char *about;   /* paragraphs for --help, broken at 78 columns */
	const char *example; /* lines for --help: commands, and comments with '#' */
	const struct opt *opts;
	size_t opts_size;
	enum cmd_flags flags;
	const struct cmd *const *sub; /* `runtime list`, ...; ends with NULL */
	/*
	 * argv[0] is the first argument after the options. Returns the exit code;
	 * -1 with err filled: main prints it.
	 */
	int (*run)(const void *opts, int argc, char **argv, struct error *err);
};

extern const struct cmd *const cmds[]; /* sorted by name, ends with NULL */

/* The next command that is not hidden, from this element of a list on; NULL: none. */
const struct cmd *const *cmd_shown(const struct cmd *const *list);

/*
 * cmd_find() returns the command of that name, or NULL. cmd_unknown() sets the error for
 * an unknown name, with the nearest name of the list, and returns -1.
 */
const struct cmd *cmd_find(const struct cmd *const *list, const char *name);
int cmd_unknown(const struct cmd *const *list, const char *name, struct error *err);

/* The exit code of a command that fails: 128 + N if signal N stopped it, else -1. */
int cmd_failed(const struct error *err);

/* `where` is the called command: "kftrainer submit", "kftrainer runtime list". */
void cmd_help(const char *where, const struct cmd *cmd); /* to stdout */
void cmd_usage(FILE *out);                               /* the list of commands */

/* Prints "kftrainer submit: <message>" to stderr, one line, escaped by str_visible(). */
void cmd_complain(const char *cmd, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct reporter cmd_reporter(const char *cmd); /* reports by cmd_complain() */

extern const struct cmd cmd_cache_head, cmd_cache_pod,
	cmd_cache_worker; /* of cache-serve */
extern const struct cmd cmd_cache_serve, cmd_completion, cmd_controller, cmd_convert;
extern const struct cmd cmd_delete, cmd_events, cmd_exec, cmd_export_model, cmd_get,
	cmd_gpu, cmd_gpu_feed, cmd_help_;
extern const struct cmd cmd_initialize_dataset, cmd_initialize_model, cmd_install;
extern const struct cmd cmd_logs, cmd_mpi_launch, cmd_mpi_worker, cmd_preflight,
	cmd_rerun, cmd_resume, cmd_runs, cmd_runtime, cmd_submit;
extern const struct cmd cmd_runtime_carry, cmd_runtime_rerun, cmd_runtime_resume,
	cmd_runtime_supervise, cmd_runtime_unpack_workspace; /* of cmd_runtime */
extern const struct cmd cmd_run_jobset;
extern const struct cmd cmd_suspend, cmd_ui, cmd_uninstall, cmd_version, cmd_wait,
	cmd_why;

#endif
