/* supervise.c - runtime supervise: start a command again where it failed (supervise/run.h). */
#include <errno.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "supervise/run.h"

enum { MOST_RESTARTS = 1000000, GRACE_MS = 5000, LAST_CODE = 255 };
enum { EXIT_NOT_STARTED = 126, EXIT_NOT_FOUND = 127 }; /* as a shell has them */

struct supervise_opts {
	int64_t restarts, grace;
	struct opt_strs final;
	const char *message;
	char **command;
};

static const struct opt opts_table[] = {
	OPT_INT(0, "restarts", "N", "start it again at most N times (default: 0)",
		struct supervise_opts, restarts, 0, MOST_RESTARTS),
	OPT_DURATION(0, "restart-grace", "TIME",
		     "time from TERM to KILL before it starts again (default: 5s)",
		     struct supervise_opts, grace, 1, OPT_LONGEST),
	OPT_STRS(0, "final", "CODE",
		 "do not start it again after this exit code; may be repeated",
		 struct supervise_opts, final),
	OPT_STR(0, "message", "FILE",
		"file for the last 4 KiB of output after a failure (default: "
		"/dev/termination-log)",
		struct supervise_opts, message),
	OPT_REST("COMMAND", "the command, with its arguments", struct supervise_opts,
		 command),
	{ .type = OPT_END },
};

static int read_codes(bool final[256], const struct opt_strs *codes, struct error *err)
{
	for (size_t i = 0; i < codes->n; i++) {
		int64_t code;

		if (str_int(&code, codes->list[i], 1, LAST_CODE, IGNORED))
			return error_set(err, ERR_USAGE,
					 "--final '%s': expected an exit code, 1 to 255",
					 codes->list[i]);
		final[code] = true;
	}
	return 0;
}

static void say_restart(void *ctx, int status, int64_t restart)
{
	const struct supervise_opts *o = ctx;

	cmd_complain("supervise",
		     "the command ended with status %d; restart %lld of at most %lld",
		     status, (long long)restart, (long long)o->restarts);
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct supervise_opts *o = values;
	struct supervise_conf conf = {
		.rules = { .restarts = o->restarts,
			   .grace_ms = o->grace ? o->grace : GRACE_MS },
		.argv = o->command,
		.message_file = o->message ? o->message : "/dev/termination-log",
		.restarting = say_restart,
		.ctx = (void *)values,
	};
	int status;

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	if (!o->command || !o->command[0])
		return error_set(err, ERR_USAGE, "a command is required, after --");
	if (read_codes(conf.rules.final, &o->final, err))
		return -1;
	if (!supervise_run(&conf, &status, err))
		return status;
	cmd_complain("supervise", "%s", err->msg);
	return err->code == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_STARTED;
}

const struct cmd cmd_runtime_supervise = {
	.name = "supervise",
	.args = "[OPTIONS] -- COMMAND...",
	.summary = "run a command in a pod, and start it again when it fails",
	.about =
		"Runs COMMAND in a process group, passes on its output and the signals sent to\n"
		"this process, reaps orphans, and exits with COMMAND's status (128 + N if\n"
		"signal N ended it). With --restarts, a command that fails is started again in\n"
		"the same pod once all of its processes have ended, with KFTRAINER_RESTART=1,\n"
		"2, ... in its environment. After TERM, INT or QUIT it is not started again.",
	.example = "kftrainer runtime supervise -- echo trained\n"
		   "kftrainer runtime supervise --restarts 3 --final 2 -- echo trained",
	.opts = opts_table,
	.opts_size = sizeof(struct supervise_opts),
	.flags = CMD_IN_POD,
	.run = run,
};
