/* detach.c - continue in a child when the parent ends (base/detach.h). */
#include "base/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stop.h"

enum { IMPATIENCE_MS = 100 }; /* after a signal: how often to look for another one */

static int exit_code_of(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILURE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The code that the child has reported, or -1. */
static int reported_code(pid_t child, int from)
{
	int code;
	ssize_t n = read(from, &code, sizeof(code));

	if (n < 0 && errno == EINTR)
		return -1;
	return n == (ssize_t)sizeof(code) ? code : exit_code_of(child);
}

static int other_signal(void)
{
	return stop_signal() && stop_signal() != SIGINT ? stop_signal() : SIGTERM;
}

static int wait_for(pid_t child, int from)
{
	int n_sent = 0, n_interrupts = 0, code = -1;

	while (code < 0) {
		struct pollfd fds[] = { { .fd = from, .events = POLLIN },
					{ .fd = n_sent ? -1 : stop_fd(),
					  .events = POLLIN } };

		(void)!poll(fds, 2, n_sent ? IMPATIENCE_MS : -1);
		for (; n_sent < stop_count(); n_sent++) {
			bool is_interrupt = n_interrupts < stop_interrupts();

			n_interrupts += is_interrupt;
			kill(child, is_interrupt ? SIGINT : other_signal());
		}
		if (fds[0].revents)
			code = reported_code(child, from);
	}
	return code;
}

int detach(int *ret_to, int *ret_code, struct error *err)
{
	int pipes[2];
	pid_t child;

	if (pipe2(pipes, O_CLOEXEC))
		return error_errno(err, errno, "cannot make a pipe");
	child = fork();
	if (child < 0) {
		error_errno(err, errno, "cannot start a process");
		close(pipes[0]);
		close(pipes[1]);
		return -1;
	}
	close(pipes[child ? 1 : 0]);
	if (!child) {
		setsid();
		*ret_to = pipes[1];
		return 0;
	}
	if (stop_setup(err)) {
		close(pipes[0]);
		return -1;
	}
	*ret_code = wait_for(child, pipes[0]);
	close(pipes[0]);
	return 1;
}

void detach_say(int *to, int code)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	fflush(stdout);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (null >= 3)
		close(null);
	(void)!write(*to, &code, sizeof(code));
	close(*to);
	*to = -1;
}
