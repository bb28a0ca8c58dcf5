/* exec.c - run a command in a running pod of a job (client/remote.h, kubelet/enter.h). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/stop.h"
#include "base/str.h"
#include "client/remote.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "cmd/ui/out.h"
#include "cmd/ui/rawterm.h"
#include "kube/podexec.h"
#include "kubelet/enter.h"
#include "spec/refer.h"

enum { HTTP_NOT_FOUND = 404 };

struct exec_opts {
	struct where_opts where;
	int64_t rank;
	const char *container;
	bool input, terminal;
	char **command;
};

static const struct opt opts_table[] = {
	WHERE_OPTIONS(struct exec_opts),
	OPT_INT(0, "rank", "N", "the node of this rank (default: 0)", struct exec_opts,
		rank, 0, INT32_MAX),
	OPT_STR('c', "container", "NAME", "the container (default: the one that trains)",
		struct exec_opts, container),
	OPT_BOOL('i', "stdin", "pass standard input to the command", struct exec_opts,
		 input),
	OPT_BOOL('t', "tty", "give the command a terminal", struct exec_opts, terminal),
	OPT_REST("COMMAND", "the command, with its arguments", struct exec_opts, command),
	{ .type = OPT_END },
};

static bool size_of(void *ctx, int *ret_columns, int *ret_rows)
{
	return rawterm_size(ctx, ret_columns, ret_rows);
}

static void on_note(void *ctx, const char *text)
{
	cmd_complain("exec", "%s", text);
}

static int run_remote(struct kube *k, const struct remote_target *target,
		      const struct exec_opts *o, int *ret_code, struct error *err)
{
	struct rawterm term = { .changed = -1, .guard = -1 };
	struct remote_io io = { .input = o->input,
				.in = o->input ? STDIN_FILENO : -1,
				.terminal = o->terminal,
				.size = size_of,
				.on_output = out_bytes,
				.on_note = on_note,
				.ctx = &term };
	int rc;

	if (o->terminal && rawterm_begin(&term, err))
		return -1;
	io.resized = term.changed;
	rc = remote_run(k, target, (const char *const *)o->command, &io, ret_code, err);
	rawterm_end(&term);
	return rc;
}

static int run_local(const struct remote_target *target, const struct exec_opts *o,
		     int *ret_code, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const struct enter_opts want = {
		.file = arena_printf(&arena, "%s/%s" ENTER_SUFFIX, target->logs,
				     target->container),
		.argv = (const char *const *)o->command,
		.input = o->input,
		.in = STDIN_FILENO,
		.terminal = o->terminal,
		.output = STDOUT_FILENO,
	};

	if (!enter_run(&want, ret_code, err))
		return 0;
	return error_wrap(err, "pod %s", target->pod);
}

/* The API of `controller --local` has no pods/exec: its pods are this machine's. */
static int run_target(struct kube *k, const struct remote_target *target,
		      const struct exec_opts *o, int *ret_code, struct error *err)
{
	if (kube_is_inside(k))
		return run_local(target, o, ret_code, err);
	if (!run_remote(k, target, o, ret_code, err))
		return 0;
	if (err->code != HTTP_NOT_FOUND || !target->logs)
		return -1;
	*err = (struct error){ 0 };
	return run_local(target, o, ret_code, err);
}

/* As kubectl: -t needs -i and a terminal, and says what it does without. */
static void check_terminal(struct exec_opts *o)
{
	if (!o->terminal || (o->input && isatty(STDIN_FILENO)))
		return;
	cmd_complain("exec", "%s: the command gets no terminal",
		     o->input ? "standard input is no terminal" : "-t without -i");
	o->terminal = false;
}

static int failed(const struct error *err)
{
	if (err->kind == ERR_STOPPED && stop_signal())
		return EXIT_BY_SIGNAL + stop_signal();
	if (err->kind == ERR_STOPPED && err->code == EPIPE) /* as other commands */
		return EXIT_BY_SIGNAL + SIGPIPE;
	cmd_complain("exec", "%s", err->msg);
	return err->code == PODEXEC_NOT_FOUND || err->code == PODEXEC_NOT_EXECUTABLE
		       ? err->code
		       : EXIT_OURS;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	struct exec_opts o = *(const struct exec_opts *)values;
	struct remote_want want = { .rank = o.rank, .container = o.container };
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *k = NULL;
	struct remote_target target;
	int code;

	if (argc != 1)
		return error_set(err, ERR_USAGE, "specify one job, and -- COMMAND");
	if (!o.command || !o.command[0])
		return error_set(err, ERR_USAGE, "a command is required, after --");
	if (refer_jobs(argv, err))
		return -1;
	want.job = argv[0];
	check_terminal(&o);
	rawterm_prepare();
	if (where_connect(&k, &want.ns, &arena, &o.where, err))
		return err->kind == ERR_USAGE ? -1 : failed(err);
	if (remote_find(&target, &arena, k, &want, err) ||
	    run_target(k, &target, &o, &code, err))
		return failed(err);
	return code;
}

const struct cmd cmd_exec = {
	.name = "exec",
	.args = "JOB -- COMMAND...",
	.summary = "run a command in a running pod of a job",
	.about =
		"Runs COMMAND in the container that trains, of rank 0 unless --rank says\n"
		"otherwise, and exits with its status: 127 if it does not exist there, 126 if it\n"
		"cannot be run, 125 if this program fails: no such job, no right to do it, the\n"
		"connection broke. With -it, COMMAND has a terminal of the window's size. Ctrl-C\n"
		"reaches it; without -t, a second one ends this program alone. In a cluster,\n"
		"needs the rights to get and create pods/exec.",
	.example = "kftrainer exec digits -- nvidia-smi\n"
		   "kftrainer exec digits --rank 1 -it -- bash\n"
		   "echo 0.1 | kftrainer exec digits -i -- sh -c 'cat >/tmp/rate'",
	.opts = opts_table,
	.opts_size = sizeof(struct exec_opts),
	.run = run,
};
