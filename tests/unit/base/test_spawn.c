#include "base/spawn.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

RUN_TESTS(NULL, NULL)
