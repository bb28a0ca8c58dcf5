/* The command lines that launchers have for ssh. */
#include "mpi/ssh_args.h"

#include "base/cleanup.h"
#include "tests/unit/base/base_test.h"

static int parse(struct ssh_args *ret, struct arena *arena, const char *const *words,
		 struct error *err)
{
	char *argv[32];
	int argc = 0;

	for (; words[argc]; argc++)
		argv[argc] = arena_strdup(arena, words[argc]);
	argv[argc] = NULL;
	return ssh_args_parse(ret, arena, argc, argv, err);
}

static const char *describe(struct arena *a, const struct ssh_args *args)
{
	return arena_printf(
		a, "%s@%s:%d i=%s t=%d*%d%s%s %dms%s%s%s%s: %s",
		args->user ? args->user : "", args->host ? args->host : "",
		(int)args->port, args->key_file ? args->key_file : "",
		(int)args->connect_timeout_s, (int)args->connection_attempts,
		args->any_host_key ? " any" : "", args->verbose ? " verbose" : "",
		(int)args->timeout_ms, args->wait_file ? " wait=" : "",
		args->wait_file ? args->wait_file : "", args->watch_file ? " watch=" : "",
		args->watch_file ? args->watch_file : "", args->command);
}

#define W(...)                    \
	{                         \
		__VA_ARGS__, NULL \
	}

static const struct row {
	const char *words[24];
	const char *wanted;
} rows[] = {
	/* ORTE with its own arguments, and a port after the host. */
	{ W("ssh", "-x", "-o", "ConnectionAttempts=10", "w0.j", "-p", "2200", "orted",
	    "-mca", "ess", "\"env\""),
	  "@w0.j:2200 i= t=0*10 0ms: orted -mca ess \"env\"" },
	/* sh or ksh: words of a subshell. */
	{ W("ssh", "w0", "(", "test", "!", "-r", "./.profile", "||", ".", "./.profile;",
	    " PATH=/o ; orted", ")"),
	  "@w0:0 i= t=0*0 0ms: ( test ! -r ./.profile || . "
	  "./.profile;  PATH=/o ; orted )" },
	/* Hydra: quotes meant for the remote shell. */
	{ W("/opt/kftrainer/mpi-launch", "-x", "w1", "\"/usr/bin/hydra_pmi_proxy\"",
	    "--control-port", "l:1"),
	  "@w1:0 i= t=0*0 0ms: \"/usr/bin/hydra_pmi_proxy\" --control-port l:1" },
	/* Intel MPI */
	{ W("ssh", "-q", "-x", "w1", "/i/bin//hydra_bstrap_proxy", "-h"),
	  "@w1:0 i= t=0*0 0ms: /i/bin//hydra_bstrap_proxy -h" },
	/* horovodrun */
	{ W("ssh", "-o", "PasswordAuthentication=no", "-o", "StrictHostKeyChecking=no",
	    "w1", "-p", "22", "-i", "/k", "'true'"),
	  "@w1:22 i=/k t=0*0 any 0ms: 'true'" },
	{ W("ssh", "-xqp2222", "-lme", "-oConnectTimeout=5", "h", "c"),
	  "me@h:2222 i= t=5*0 0ms: c" },
	{ W("ssh", "-l", "me", "you@h", "c"), "you@h:0 i= t=0*0 0ms: c" },
	{ W("ssh", "you@h", "-l", "me", "c"), "you@h:0 i= t=0*0 0ms: c" },
	{ W("ssh", "-o", "port 7", "-o", "user = u", "-o", "IDENTITYFILE=/a b", "h", "c"),
	  "u@h:7 i=/a b t=0*0 0ms: c" },
	{ W("ssh", "-L", "1:a:2", "-F", "f", "-v", "h", "--", "-c"),
	  "@h:0 i= t=0*0 verbose 0ms: -c" },
	{ W("ssh", "--", "h", "-v", "c"), "@h:0 i= t=0*0 0ms: -v c" },
	{ W("ssh", "h"), "@h:0 i= t=0*0 0ms: " },
	{ W("mpi-launch", "--timeout", "10m", "h", "--timeout", "90s", "c"),
	  "@h:0 i= t=0*0 90000ms: c" },
	{ W("mpi-launch", "--timeout=2s", "h", "c", "--wait"),
	  "@h:0 i= t=0*0 2000ms: c --wait" },
	{ W("mpi-launch", "--wait", "/etc/mpi/hostfile", "--timeout", "10m", "-p", "7"),
	  "@:7 i= t=0*0 600000ms wait=/etc/mpi/hostfile: " },
	{ W("mpi-launch", "--wait=f"), "@:0 i= t=0*0 0ms wait=f: " },
	{ W("mpi-launch", "--watch", "f", "-p", "7", "--", "mpirun", "-n", "2", "--wait"),
	  "@:7 i= t=0*0 0ms watch=f: mpirun -n 2 --wait" },
	{ W("mpi-launch", "--watch=f", "mpirun", "-p", "2"),
	  "@:0 i= t=0*0 0ms watch=f: mpirun -p 2" },
};

TEST(test_command_lines)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		struct ssh_args args;

		if (parse(&args, &arena, rows[i].words, &err))
			fail_msg("%s: %s", rows[i].wanted, err.msg);
		assert_string_equal(describe(&arena, &args), rows[i].wanted);
	}
}

static const struct row bad[] = {
	{ W("ssh"), "specify a host: mpi-launch [OPTIONS] HOST COMMAND" },
	{ W("ssh", "-x"), "specify a host: mpi-launch [OPTIONS] HOST COMMAND" },
	{ W("mpi-launch", "--wait"), "option '--wait' needs a value" },
	{ W("mpi-launch", "--wait", "f", "h"), "--wait: unexpected host 'h'" },
	{ W("mpi-launch", "h", "--watch", "f", "true"), "--watch: unexpected host 'h'" },
	{ W("mpi-launch", "--watch", "f"),
	  "specify a command: mpi-launch --watch HOSTFILE COMMAND" },
	{ W("mpi-launch", "--watch", "f", "--wait", "f", "c"),
	  "--wait and --watch cannot be combined" },
	{ W("mpi-launch", "--waitx=f"), "unknown option '--waitx=f'" },
	{ W("ssh", "me@", "c"), "the host name is empty" },
	{ W("ssh", "-p"), "option '-p' needs a value" },
	{ W("ssh", "h", "-i"), "option '-i' needs a value" },
	{ W("ssh", "-Z", "h"), "unknown option '-Z'" },
	{ W("ssh", "--what", "h"), "unknown option '--what'" },
	{ W("ssh", "-p", "0", "h"), "-p: 0 is not between 1 and 65535" },
	{ W("ssh", "--timeout", "0s", "h"),
	  "--timeout: invalid duration '0s': want more than 0" },
};

TEST(test_bad_command_lines)
{
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		struct ssh_args args;

		assert_int_equal(parse(&args, &arena, bad[i].words, &err), -1);
		assert_string_equal(err.msg, bad[i].wanted);
	}
}

RUN_TESTS(NULL, NULL)
