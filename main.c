/*
 * main.c - find the command and run it (cmd/cmd.h).
 *
 * `kftrainer NAME ...`, or by a link: argv[0] of `kftrainer-NAME` or `NAME`
 * (a container's entry point), `ssh` and `rsh` (what MPI launchers call), `head` and
 * `worker` (the data cache's), and `kubectl-trainer`, the kubectl plugin.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/opt.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cmd/cmd.h"

/* A command, its full name ("kftrainer runtime list"), and argv from its own name on. */
struct call {
	const struct cmd *cmd;
	char where[100];
	int argc;
	char **argv;
};

/*
 * A file that is opened while 0, 1 or 2 is closed would get that number, and our output.
 * /dev/null gets it instead. Reading 0 and writing to 1 fail, as if they were closed.
 */
static void fill_std_fds(void)
{
	static const int flags[] = { O_WRONLY, O_RDONLY, O_RDWR };

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags[fd]) != fd)
			_exit(EXIT_FAILED);
}

/*
 * Another process with our output open may have made it non-blocking, as Node.js does with a
 * terminal: output that is not read in time would be lost. A new descriptor blocks.
 */
static void block_output(int fd)
{
	int flags = fcntl(fd, F_GETFL), own;
	char path[32];
	struct stat st;

	if (flags < 0 || !(flags & O_NONBLOCK) || fstat(fd, &st) || S_ISREG(st.st_mode))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own < 0)
		return;
	fcntl(own, F_SETFL, 0);
	dup2(own, fd);
	close(own);
}

static bool is_help(const char *arg)
{
	return !strcmp(arg, "--help") || !strcmp(arg, "-h");
}

/* --help counts anywhere before "--", so that it can be appended to a command line. */
static bool wants_help(const struct call *call)
{
	char **argv = call->argv;

	if (call->cmd->flags & CMD_OWN_ARGS)
		return call->argc > 1 && !strcmp(argv[1], "--help");
	for (int i = 1; i < call->argc && strcmp(argv[i], "--"); i++)
		if (is_help(argv[i]))
			return true;
	return false;
}

static void step_into(struct call *call, const struct cmd *cmd)
{
	size_t len = strlen(call->where);

	call->cmd = cmd;
	snprintf(call->where + len, sizeof(call->where) - len, " %s", cmd->name);
}

/* The command for a link's name; upstream calls the data cache as `head` and `worker`. */
static const struct cmd *by_link(struct call *call, const char *argv0)
{
	const char *slash = strrchr(argv0, '/');
	const char *base = slash ? slash + 1 : argv0;
	const char *rest = str_after(base, "kftrainer-");

	if (!strcmp(base, "ssh") || !strcmp(base, "rsh"))
		return &cmd_mpi_launch;
	if (strcmp(base, "head") && strcmp(base, "worker"))
		return cmd_find(cmds, rest ? rest : base);
	step_into(call, &cmd_cache_serve);
	return cmd_find(cmd_cache_serve.sub, base);
}

static int find_command(struct call *call, struct error *err)
{
	const char *name = call->argv[1];
	const struct cmd *cmd =
		cmd_find(cmds, str_eq(name, "--version") ? "version" : name);

	if (!cmd)
		return cmd_unknown(cmds, name, err);
	step_into(call, cmd);
	call->argc--;
	call->argv++;
	return 0;
}

/* `runtime list`: one level down; `runtime --help` remains at the group. */
static int find_subcommand(struct call *call, struct error *err)
{
	const struct cmd *sub;

	if (!call->cmd->sub || (call->argc > 1 && is_help(call->argv[1])))
		return 0;
	if (call->argc < 2)
		return error_set(err, ERR_USAGE, "say what to do: %s", call->cmd->args);
	sub = cmd_find(call->cmd->sub, call->argv[1]);
	if (!sub)
		return cmd_unknown(call->cmd->sub, call->argv[1], err);
	step_into(call, sub);
	call->argc--;
	call->argv++;
	return 0;
}

static int run(const struct call *call, struct error *err)
{
	static const struct opt none[] = { { .type = OPT_END } };
	const struct opt *opts = call->cmd->opts ? call->cmd->opts : none;
	cleanup_free void *values = xcalloc(1, call->cmd->opts_size);
	int argc = call->argc, code = -1;
	char **argv = call->argv;

	if (call->cmd->flags & CMD_OWN_ARGS ||
	    !opt_parse(opts, values, &argc, &argv, err))
		code = call->cmd->run(values, argc, argv, err);
	opt_release(opts, values);
	return code;
}

/* Errors in the user's input have an exit code of their own. */
static int exit_code(enum error_kind kind)
{
	switch (kind) {
	case ERR_USAGE:
	case ERR_INVALID:
	case ERR_FORMAT:
	case ERR_LIMIT:
	case ERR_UNSUPPORTED:
		return EXIT_BAD_INPUT;
	default:
		return EXIT_FAILED;
	}
}

static int report(const struct call *call, const struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	fflush(stdout);
	fprintf(stderr, "%s: %s\n", call->where, str_visible(&arena, err->msg, true));
	if (err->kind == ERR_USAGE)
		fprintf(stderr, "Try '%s --help'.\n", call->where);
	return exit_code(err->kind);
}

/* Has the reader of the pipe closed it, as in `| head`? */
static bool reader_is_gone(void)
{
	struct pollfd fd = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&fd, 1, 0) == 1 && fd.revents & POLLERR;
}

/* Returns the exit code: `code`, unless output was lost: disk full, or pipe closed. */
static int finish_output(const struct call *call, int code)
{
	bool now = fflush(stdout) != 0;
	int why = errno;

	if (!now && !ferror(stdout))
		return code;
	if ((now && why == EPIPE) || reader_is_gone())
		return EXIT_BY_SIGNAL + SIGPIPE;
	/* The errno of an earlier write is lost. */
	fprintf(stderr, "%s: writing the output failed%s%s\n", call->where,
		now ? ": " : "", now ? strerror(why) : "");
	return code ? code : EXIT_FAILED;
}

static int dispatch(struct call *call)
{
	struct error err = { 0 };
	int code;

	if (!call->cmd && find_command(call, &err))
		return report(call, &err);
	if (find_subcommand(call, &err))
		return report(call, &err);
	if (wants_help(call)) {
		cmd_help(call->where, call->cmd);
		return finish_output(call, EXIT_OK);
	}
	code = run(call, &err);
	return code < 0 ? report(call, &err) : finish_output(call, code);
}

int main(int argc, char **argv)
{
	struct call call = { .where = "kftrainer", .argc = argc, .argv = argv };
	const struct cmd *cmd;

	signal(SIGXFSZ, SIG_IGN); /* writes beyond `ulimit -f` fail, as on a full disk */
	fill_std_fds();
	block_output(STDOUT_FILENO);
	block_output(STDERR_FILENO);
	cmd = argc ? by_link(&call, argv[0]) : NULL;
	if (cmd) {
		step_into(&call, cmd);
	} else if (argc < 2) {
		cmd_usage(stderr);
		return EXIT_BAD_INPUT;
	} else if (is_help(argv[1])) {
		cmd_usage(stdout);
		return finish_output(&call, EXIT_OK);
	}
	return dispatch(&call);
}
