/* tty.c - pass a terminal's keys to a container (kubelet/tty.h). */
#include "kubelet/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"

enum { KEYS = 4096 };

int tty_open(struct tty *t, int *ret_master, int *ret_slave, struct error *err)
{
	cleanup_fd int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct winsize size;
	int slave;

	*t = (struct tty){ .keys = -1 };
	if (tcgetattr(STDIN_FILENO, &t->before))
		return error_errno(err, errno, "standard input");
	if (master < 0 || grantpt(master) || unlockpt(master))
		return error_errno(err, errno, "cannot make a terminal");
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return error_errno(err, errno, "cannot open a terminal");
	tcsetattr(slave, TCSANOW, &t->before);
	if (!ioctl(STDIN_FILENO, TIOCGWINSZ, &size))
		ioctl(master, TIOCSWINSZ, &size);
	*ret_master = master;
	*ret_slave = slave;
	master = -1;
	return 0;
}

/* ---- the child: no allocation, no locks; all signals are blocked ----------------------- */

enum { TTY, MASTER, PARENT, RESIZED, N_FDS };

/* Move the descriptors to 0, 1, ...; close all others, such as the lock of the run. */
static void keep_fds(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, N_FDS);
	for (size_t i = 0; i < n; i++)
		fds[i] = dup2(fds[i], (int)i);
	if (syscall(SYS_close_range, n, ~0U, 0))
		for (int fd = (int)n; fd < 65536; fd++)
			close(fd);
}

static void pass_size(const int *fds)
{
	struct signalfd_siginfo info;
	struct winsize size;

	(void)!read(fds[RESIZED], &info, sizeof(info));
	if (!ioctl(fds[TTY], TIOCGWINSZ, &size))
		ioctl(fds[MASTER], TIOCSWINSZ, &size);
}

struct keys {
	char text[KEYS];
	ssize_t n, at; /* read, and passed on */
	bool ended;    /* no more can be read */
};

static void read_keys(struct keys *k, int tty)
{
	k->at = 0;
	k->n = read(tty, k->text, sizeof(k->text));
	k->ended = k->n <= 0;
	if (k->ended)
		k->n = 0;
}

static void write_keys(struct keys *k, int master)
{
	ssize_t done = write(master, k->text + k->at, (size_t)(k->n - k->at));

	if (done >= 0)
		k->at += done;
	else if (errno != EAGAIN)
		k->at = k->n;
}

/* Until the parent closes its end, or has died. */
static void pass_keys(const int *fds)
{
	struct pollfd p[N_FDS] = {
		[MASTER] = { .events = POLLOUT }, [TTY] = { .events = POLLIN }
	};
	struct keys k = { .n = 0 };

	p[PARENT] = (struct pollfd){ .fd = fds[PARENT], .events = POLLIN };
	p[RESIZED] = (struct pollfd){ .fd = fds[RESIZED], .events = POLLIN };
	while (!p[PARENT].revents) {
		bool left = k.at < k.n;

		p[TTY].fd = left || k.ended ? -1 : fds[TTY];
		p[MASTER].fd = left ? fds[MASTER] : -1;
		if (poll(p, N_FDS, -1) < 0 && errno != EINTR)
			return;
		if (p[RESIZED].revents)
			pass_size(fds);
		if (p[TTY].revents)
			read_keys(&k, fds[TTY]);
		if (p[MASTER].revents)
			write_keys(&k, fds[MASTER]);
	}
}

static _Noreturn void relay(const struct tty *t, int master, int parent)
{
	int fds[N_FDS] = { STDIN_FILENO, master, parent };
	sigset_t resized;

	prctl(PR_SET_NAME, "kftrainer-tty", 0, 0, 0);
	sigemptyset(&resized);
	sigaddset(&resized, SIGWINCH);
	fds[RESIZED] = signalfd(-1, &resized, SFD_CLOEXEC | SFD_NONBLOCK);
	keep_fds(fds, N_FDS);
	pass_keys(fds);
	tcsetattr(fds[TTY], TCSADRAIN, &t->before);
	_exit(0);
}

/* ---- the parent ------------------------------------------------------------------------ */

/* A process in the background may change the terminal, too, if it blocks SIGTTOU. */
static void block_signals(sigset_t *ret_before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, ret_before);
}

int tty_attach(struct tty *t, int master, struct error *err)
{
	struct termios raw = t->before;
	sigset_t before;
	int fds[2], saved;

	if (pipe2(fds, O_CLOEXEC))
		return error_errno(err, errno, "pipe");
	cfmakeraw(&raw);
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw)) {
		close(fds[0]);
		close(fds[1]);
		return error_errno(err, errno, "standard input");
	}
	block_signals(&before);
	t->child = fork();
	if (!t->child)
		relay(t, master, fds[0]);
	saved = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(fds[0]);
	t->keys = fds[1];
	if (t->child > 0)
		return 0;
	tty_detach(t);
	return error_errno(err, saved, "starting a process");
}

void tty_detach(struct tty *t)
{
	sigset_t before;

	if (t->keys < 0)
		return;
	close(t->keys);
	t->keys = -1;
	while (t->child > 0 && waitpid(t->child, NULL, 0) < 0 && errno == EINTR)
		;
	block_signals(&before);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &t->before);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
