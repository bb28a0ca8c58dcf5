#include "base/spawn.h"
#include "base/str.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/unit/base/base_test.h"

extern char **environ;

/* A line of /proc/PID/status of a program started so: a mask of signals. */
static unsigned long long mask_of(const char *line, enum spawn_signals signals)
{
	char *argv[] = { (char[]){ "cat" }, (char[]){ "/proc/self/status" }, NULL };
	unsigned long long ret = ~0ULL;
	char text[256];
	FILE *status;
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(spawn_program(&pid, &(struct spawn){ .path = "cat",
							      .argv = argv,
							      .envp = environ,
							      .fds = { -1, ends[1], 2 },
							      .signals = signals }),
			 0);
	close(ends[1]);
	status = fdopen(ends[0], "r");
	while (fgets(text, sizeof(text), status))
		if (!strncmp(text, line, strlen(line)))
			ret = strtoull(text + strlen(line), NULL, 16);
	fclose(status);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return ret;
}

static unsigned long long bit(int signum)
{
	return 1ULL << (signum - 1);
}

TEST(test_signals)
{
	unsigned long long ignored;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	assert_true(mask_of("SigBlk:", SPAWN_INHERIT) == 0);
	assert_true(mask_of("SigBlk:", SPAWN_RESET) == 0);
	ignored = mask_of("SigIgn:", SPAWN_INHERIT);
	assert_true(ignored & bit(SIGHUP));
	assert_false(ignored & bit(SIGPIPE));
	ignored = mask_of("SigIgn:", SPAWN_RESET);
	assert_false(ignored & (bit(SIGHUP) | bit(SIGPIPE)));
}

TEST(test_why_a_script_does_not_start)
{
	static const struct {
		const char *text, *says; /* NULL: no such file */
		int rc;
	} rows[] = {
		{ "#!/bin/sh\r\necho\r\n", "line ends of Windows", ENOENT },
		{ "#!/no/interpreter\n",
		  ": a script whose interpreter (#! line) is not there: head -n 1 shows",
		  ENOENT },
		{ "#!/etc/passwd\n",
		  ": a script whose interpreter (#! line) is not executable: head -n 1",
		  EACCES },
		{ "#!\n", ": a script whose #! line is empty or too long: start it",
		  ENOEXEC },
		{ "\177ELF of another machine",
		  ": a program for another kind of machine, or a damaged one: install",
		  ENOEXEC },
		{ STR_BOM "#!/bin/sh\n",
		  "a script with a byte order mark before its #! line: remove the mark",
		  ENOEXEC },
		{ "echo\n",
		  ": a file that is neither a program nor a script with a #! line: begin",
		  ENOEXEC },
		{ NULL, "No such file", ENOENT },
	};
	char dir[] = "/tmp/kftrainer-spawn-XXXXXX", path[64];
	char *argv[] = { path, NULL };

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/script", dir);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct error err = { 0 };
		pid_t pid;
		int rc;

		unlink(path);
		if (rows[i].text &&
		    file_write(path, rows[i].text, strlen(rows[i].text), 0700, &err))
			fail_msg("%s", err.msg);
		rc = spawn_program(&pid, &(struct spawn){ .path = path,
							  .argv = argv,
							  .envp = environ,
							  .fds = { -1, -1, -1 } });
		assert_int_equal(rc, rows[i].rc);
		assert_int_equal(spawn_failed(&err, path, rc), -1);
		assert_int_equal(err.code, rc);
		if (!strstr(err.msg, rows[i].says) || !strstr(err.msg, path))
			fail_msg("%zu: %s", i, err.msg);
	}
	assert_int_equal(rmdir(dir), 0);
}

/* As of a virtual environment below such a directory. */
TEST(test_a_space_in_the_name_of_an_interpreter)
{
	static const struct {
		const char *before, *after, *says;
		int number;
	} rows[] = {
		{ "#!", "/a b\n", SPAWN_BLANK, ENOENT },
		{ "#! ", "/a b\n", SPAWN_BLANK, ENOENT },
		{ "#!", "/a b\n", SPAWN_BLANK, EACCES },
		{ "#!", "/a b", SPAWN_NO_INTERPRETER, ENOENT },
		{ "#!", "/a c\n", SPAWN_NO_INTERPRETER, ENOENT },
		{ "#!", "/none\n", SPAWN_NO_INTERPRETER, ENOENT },
		{ "\n", "/a b\n", NULL, ENOENT },
	};
	char dir[] = "/tmp/kftrainer-spawn-XXXXXX", path[64], program[64], text[64];
	struct error err = { 0 };

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/script", dir);
	snprintf(program, sizeof(program), "%s/a b", dir);
	assert_int_equal(file_write(program, "", 0, 0700, &err), 0);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *fault;

		snprintf(text, sizeof(text), "%s%s%s", rows[i].before, dir,
			 rows[i].after);
		unlink(path);
		assert_int_equal(file_write(path, text, strlen(text), 0700, &err), 0);
		fault = spawn_fault(path, rows[i].number);
		if (!str_eq(fault, rows[i].says))
			fail_msg("%zu: %s", i, fault);
	}
	assert_non_null(strstr(spawn_remedy(SPAWN_BLANK), "at a path without one"));
	unlink(path);
	unlink(program);
	assert_int_equal(rmdir(dir), 0);
}

TEST(test_why_a_file_is_denied)
{
	static const struct {
		const char *path, *says;
	} rows[] = {
		{ "/tmp", "/tmp: a directory, not a program: name a program in it" },
		{ "/etc/passwd", "/etc/passwd: Permission denied" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		char *argv[] = { (char *)(uintptr_t)rows[i].path, NULL };
		struct error err = { 0 };
		pid_t pid;
		int rc = spawn_program(&pid, &(struct spawn){ .path = argv[0],
							      .argv = argv,
							      .envp = environ,
							      .fds = { -1, -1, -1 } });

		assert_int_equal(rc, EACCES);
		assert_int_equal(spawn_failed(&err, argv[0], rc), -1);
		if (!str_starts(err.msg, rows[i].says))
			fail_msg("%zu: %s", i, err.msg);
	}
}

/* A script of a virtual environment that was moved is there, and does not start. */
TEST(test_a_file_of_the_path_that_does_not_start)
{
	char dir[] = "/tmp/kftrainer-spawn-XXXXXX", file[64], path[96], want[160];
	struct error err = { 0 };

	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/torchrun", dir);
	snprintf(path, sizeof(path), "/none:%s", dir);
	snprintf(want, sizeof(want), "%s: a script whose interpreter", file);
	assert_int_equal(file_write(file, "#!/no/python\n", 13, 0700, &err), 0);
	assert_int_equal(setenv("PATH", path, 1), 0);
	assert_int_equal(spawn_failed(&err, "torchrun", ENOENT), -1);
	assert_true(str_starts(err.msg, want));
	unlink(file);
	assert_int_equal(spawn_failed(&err, "torchrun", ENOENT), -1);
	assert_string_equal(err.msg, "torchrun: No such file or directory");
	assert_int_equal(rmdir(dir), 0);
}

/* What is written where the name of a command belongs; the last three are runc's words. */
TEST(test_remedies_of_names)
{
	static const char *const rows[][2] = {
		{ "command not found: trian", NULL },
		{ "command not found: cd", "only a shell has this command" },
		{ "command not found: cds", NULL },
		{ "command not found: A=1", "this is a variable, not a command" },
		{ "command not found: python3 a.py --b=1", "these words are one" },
		{ "command not found: /opt/my tools/a", NULL },
		{ "container init: exec: \"python3 a.py\": executable file not found in "
		  "$PATH: unknown",
		  "these words are one" },
		{ "exec: \"source\": executable file not found", "only a shell has" },
		{ "exec: \"trian\": executable file not found in $PATH: a=b", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *have = spawn_remedy(rows[i][0]);

		if (!have != !rows[i][1] || (have && !str_starts(have, rows[i][1])))
			fail_msg("%s: %s", rows[i][0], have ? have : "none");
	}
}

RUN_TESTS(NULL, NULL)
