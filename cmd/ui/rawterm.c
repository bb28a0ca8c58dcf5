/* rawterm.c - make the terminal raw, and restore it (cmd/ui/rawterm.h). */
#include "cmd/ui/rawterm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/terminal.h"

static sigset_t changes(void)
{
	sigset_t ret;

	sigemptyset(&ret);
	sigaddset(&ret, SIGWINCH);
	sigaddset(&ret, SIGCONT);
	return ret;
}

void rawterm_prepare(void)
{
	const sigset_t set = changes();

	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* SIGTTOU would stop a process in the background that changes the terminal. */
static void set(const struct termios *to)
{
	sigset_t out, before;

	sigemptyset(&out);
	sigaddset(&out, SIGTTOU);
	sigprocmask(SIG_BLOCK, &out, &before);
	tcsetattr(STDIN_FILENO, TCSADRAIN, to);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void make_raw(const struct rawterm *t)
{
	struct termios raw = t->before;

	cfmakeraw(&raw);
	set(&raw);
}

/* No allocation, no locks: this process may have threads. */
static _Noreturn void guard(const struct rawterm *t, int parent)
{
	sigset_t all;
	char done;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setpgid(0, 0);
	prctl(PR_SET_NAME, "kftrainer-tty", 0, 0, 0);
	dup2(parent, STDOUT_FILENO);
	syscall(SYS_close_range, STDERR_FILENO, ~0U, 0);
	while (read(STDOUT_FILENO, &done, 1) < 0 && errno == EINTR)
		;
	tcsetattr(STDIN_FILENO, TCSANOW, &t->before);
	_exit(0);
}

int rawterm_begin(struct rawterm *t, struct error *err)
{
	const sigset_t set_of = changes();
	int fds[2];

	*t = (struct rawterm){ .changed = -1, .guard = -1 };
	if (tcgetattr(STDIN_FILENO, &t->before))
		return error_errno(err, errno, "standard input");
	if (pipe2(fds, O_CLOEXEC))
		return error_errno(err, errno, "pipe");
	t->changed = signalfd(-1, &set_of, SFD_CLOEXEC | SFD_NONBLOCK);
	t->child = fork();
	if (!t->child)
		guard(t, fds[0]);
	close(fds[0]);
	t->guard = fds[1];
	make_raw(t);
	return 0;
}

bool rawterm_size(struct rawterm *t, int *ret_columns, int *ret_rows)
{
	struct signalfd_siginfo info;

	while (t->changed >= 0 && read(t->changed, &info, sizeof(info)) > 0)
		if (info.ssi_signo == SIGCONT)
			make_raw(t);
	*ret_columns = terminal_columns(STDIN_FILENO);
	*ret_rows = terminal_rows(STDIN_FILENO);
	return *ret_columns > 0 && *ret_rows > 0;
}

void rawterm_end(struct rawterm *t)
{
	if (t->guard < 0)
		return;
	set(&t->before);
	close(t->guard); /* the child sets the same once more */
	while (t->child > 0 && waitpid(t->child, NULL, 0) < 0 && errno == EINTR)
		;
	if (t->changed >= 0)
		close(t->changed);
	t->guard = t->changed = -1;
}
