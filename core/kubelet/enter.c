/* enter.c - join the namespaces of a container (kubelet/enter.h). */
#include "kubelet/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/str.h"
#include "kubelet/procid.h"
#include "kubelet/tty.h"

enum {
	BY_SIGNAL = 128,
	NOT_EXECUTABLE = 126,
	NOT_FOUND = 127,
	ENVIRON_MOST = 8 * 1024 * 1024,
	VARIABLES_MOST = 64 * 1024,
};

void enter_record(const char *path, pid_t init_pid, const char *workdir)
{
	cleanup_arena struct arena arena = { 0 };
	char id[PROCID_SIZE];
	const char *text =
		arena_printf(&arena, "%s\n%s\n", procid_of(init_pid, id), workdir);

	(void)!file_write_scratch(path, text, strlen(text), 0600, IGNORED);
}

/* All that the new process needs, made before the fork. */
struct entry {
	const struct enter_opts *opts;
	struct arena arena;
	pid_t init_pid, main;
	int pidfd, flags; /* the namespaces that differ from ours */
	char **envp;
	const char *workdir, *cgroup;
	int in, out; /* -1: /dev/null; the caller's */
	int failure; /* the write end of a pipe: errno of what failed, and where */
};

/* ---- the container ------------------------------------------------------------------- */

static int find_init(struct entry *e, struct error *err)
{
	cleanup_buf struct buf text = { .max = PATH_MAX + PROCID_SIZE };
	char host[PROCID_HOST_SIZE] = "";
	char *line, *end;
	struct stat st;

	if (file_read_regular(&text, e->opts->file, IGNORED) || stat(e->opts->file, &st))
		return error_set(err, ERR_CONFLICT, "the container does not run");
	if (st.st_uid != geteuid())
		return error_set(err, ERR_DENIED, "the container is another user's");
	buf_adds(&text, "");
	line = (char *)text.data;
	end = strchr(line, '\n');
	if (!end)
		return error_set(err, ERR_FORMAT, "%s is damaged", e->opts->file);
	*end++ = 0;
	e->workdir = str_slice(&e->arena, end, strcspn(end, "\n"));
	switch (procid_find(line, &e->init_pid, host)) {
	case PROCID_RUNNING:
		return 0;
	case PROCID_OTHER_HOST:
		return error_set(err, ERR_UNSUPPORTED, "the container runs on host %s",
				 host);
	case PROCID_OTHER_NAMESPACE:
		return error_set(err, ERR_UNSUPPORTED,
				 "the container runs in another PID namespace");
	default:
		return error_set(err, ERR_CONFLICT, "the container does not run");
	}
}

/* The init process's first child is the container's command. */
static int find_main(struct entry *e, struct error *err)
{
	const char *path = arena_printf(&e->arena, "/proc/%d/task/%d/children",
					(int)e->init_pid, (int)e->init_pid);
	const char *line = file_first_line(&e->arena, path);

	e->main = (pid_t)strtol(line, NULL, 10);
	return e->main > 0 ? 0
			   : error_set(err, ERR_CONFLICT, "the container does not run");
}

static int read_environment(struct entry *e, struct error *err)
{
	const char *path = arena_printf(&e->arena, "/proc/%d/environ", (int)e->main);
	cleanup_buf struct buf text = { .max = ENVIRON_MOST };
	char *copy, *end;
	size_t n = 0;

	if (file_read(&text, path, err))
		return error_wrap(err, "the container's environment");
	copy = str_slice(&e->arena, "", 0);
	if (text.len)
		copy = memcpy(arena_alloc(&e->arena, text.len + 1), text.data, text.len);
	copy[text.len] = 0;
	end = copy + text.len;
	for (const char *p = copy; p < end && n < VARIABLES_MOST; p += strlen(p) + 1)
		n++;
	e->envp = arena_alloc(&e->arena, (n + 1) * sizeof(*e->envp));
	for (size_t i = 0; i < n; i++, copy += strlen(copy) + 1)
		e->envp[i] = copy;
	e->envp[n] = NULL;
	return 0;
}

static bool differs(struct entry *e, const char *name)
{
	const char *theirs =
		arena_printf(&e->arena, "/proc/%d/ns/%s", (int)e->main, name);
	const char *ours = arena_printf(&e->arena, "/proc/self/ns/%s", name);
	struct stat a, b;

	return !stat(theirs, &a) && !stat(ours, &b) && a.st_ino != b.st_ino;
}

static void find_namespaces(struct entry *e)
{
	static const struct {
		const char *name;
		int flag;
	} all[] = { { "user", CLONE_NEWUSER },
		    { "mnt", CLONE_NEWNS },
		    { "uts", CLONE_NEWUTS },
		    { "ipc", CLONE_NEWIPC },
		    { "pid", CLONE_NEWPID } };

	for (size_t i = 0; i < N_ELEMENTS(all); i++)
		e->flags |= differs(e, all[i].name) ? all[i].flag : 0;
}

/* The process's control group of version 2, "/sys/fs/cgroup/a/b/cgroup.procs". */
static void find_cgroup(struct entry *e)
{
	const char *path = arena_printf(&e->arena, "/proc/%d/cgroup", (int)e->main);
	const char *group = str_after(file_first_line(&e->arena, path), "0::");

	e->cgroup =
		group ? arena_printf(&e->arena, "/sys/fs/cgroup%s/cgroup.procs", group)
		      : "/nowhere";
}

static int find_container(struct entry *e, struct error *err)
{
	if (find_init(e, err) || find_main(e, err) || read_environment(e, err))
		return -1;
	find_namespaces(e);
	find_cgroup(e);
	e->pidfd = (int)syscall(SYS_pidfd_open, e->main, 0);
	if (e->pidfd < 0)
		return error_errno(err, errno, "entering the container");
	return 0;
}

/* ---- in the new process: no locks, as the caller may have threads ------------------------ */

static _Noreturn void fail(const struct entry *e, int code)
{
	const int report[2] = { errno, code };

	(void)!write(e->failure, report, sizeof(report));
	_exit(BY_SIGNAL);
}

static void reset_signals(void)
{
	struct sigaction normal = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int sig = 1; sig <= 64; sig++)
		sigaction(sig, &normal, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void become(const struct entry *e)
{
	char *const *argv = (char *const *)(uintptr_t)e->opts->argv;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (e->opts->terminal) {
		setsid();
		ioctl(STDIN_FILENO, TIOCSCTTY, 0);
	}
	reset_signals();
	environ = e->envp; /* execvp() searches its PATH */
	execvp(argv[0], argv);
	fail(e, errno == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

/*
 * Until the process ends; signals to this one are its, too, unless a terminal sent them to
 * both. Returns the exit code.
 */
static int wait_for(pid_t pid, const sigset_t *all)
{
	int status;

	for (;;) {
		siginfo_t info;
		int sig = sigwaitinfo(all, &info);
		pid_t done =
			sig == SIGCHLD ? waitpid(pid, &status, WNOHANG | WUNTRACED) : 0;

		if (done == pid && WIFSTOPPED(status)) {
			raise(SIGSTOP);
			kill(pid, SIGCONT);
		} else if (done == pid) {
			return WIFSIGNALED(status) ? BY_SIGNAL + WTERMSIG(status)
						   : WEXITSTATUS(status);
		} else if (sig > 0 && sig != SIGCHLD && info.si_code != SI_KERNEL) {
			kill(pid, sig);
		}
	}
}

static int open_input(const struct entry *e)
{
	return e->in < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : e->in;
}

static void set_up(struct entry *e)
{
	cleanup_fd int group = open(e->cgroup, O_WRONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (group >= 0)
		(void)!write(group, "0", 1);
	if (dup2(open_input(e), 0) < 0 || dup2(e->out, 1) < 0 ||
	    (e->opts->terminal && dup2(e->out, 2) < 0))
		fail(e, 0);
	if (e->flags && setns(e->pidfd, e->flags))
		fail(e, 0);
	if (chdir(e->workdir) && chdir("/"))
		fail(e, 0);
}

/* A PID namespace is that of children: one more process, which waits. */
static _Noreturn void enter(struct entry *e, const sigset_t *all)
{
	pid_t pid;

	set_up(e);
	if (!(e->flags & CLONE_NEWPID))
		become(e);
	pid = fork();
	if (pid < 0)
		fail(e, 0);
	if (!pid)
		become(e);
	close(e->failure);
	_exit(wait_for(pid, all));
}

/* ---- the caller's side --------------------------------------------------------------- */

static int read_failure(const struct entry *e, int fd, struct error *err)
{
	int report[2];
	ssize_t n;

	while ((n = read(fd, report, sizeof(report))) < 0 && errno == EINTR)
		;
	if (n != sizeof(report))
		return 0;
	if (report[1])
		error_errno(err, report[0], "%s", e->opts->argv[0]);
	else
		error_errno(err, report[0], "entering the container");
	err->code = report[1];
	return -1;
}

/* Copy what there is; false: the terminal has no other side any more. */
static bool copy_output(int master)
{
	char piece[16384];
	ssize_t n = read(master, piece, sizeof(piece));

	if (n > 0)
		(void)!file_write_fd(STDOUT_FILENO, piece, (size_t)n, "", IGNORED);
	return n > 0;
}

/* A signal to this process hangs up the terminal. */
static int hang_up(int signals, pid_t pid)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) > 0)
		if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT ||
		    info.ssi_signo == SIGHUP || info.ssi_signo == SIGQUIT) {
			kill(pid, SIGKILL);
			return (int)info.ssi_signo;
		}
	return 0;
}

/*
 * Until the process has ended, which is not reaped; a process it left may keep the
 * terminal. Returns the signal that ended it, or 0.
 */
static int pass_output(int master, pid_t pid, const sigset_t *all)
{
	cleanup_fd int end = (int)syscall(SYS_pidfd_open, pid, 0);
	cleanup_fd int signals = signalfd(-1, all, SFD_CLOEXEC | SFD_NONBLOCK);
	struct pollfd p[] = { { master, POLLIN, 0 },
			      { end, POLLIN, 0 },
			      { signals, POLLIN, 0 } };
	int by = 0;

	while (!by && poll(p, N_ELEMENTS(p), -1) >= 0 && !p[1].revents) {
		if (p[0].revents && !copy_output(master))
			p[0].fd = -1;
		by = p[2].revents ? hang_up(signals, pid) : 0;
	}
	fcntl(master, F_SETFL, O_NONBLOCK);
	while (!by && copy_output(master))
		;
	return by;
}

static int reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Another thread gets the signals: a stop (base/stop.h) ends the command. */
static int wait_quietly(pid_t pid)
{
	cleanup_fd int end = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p[] = { { end, POLLIN, 0 }, { stop_fd(), POLLIN, 0 } };

	while (poll(p, N_ELEMENTS(p), -1) < 0 && errno == EINTR)
		;
	if (!p[0].revents)
		kill(pid, SIGKILL);
	return reap(pid);
}

/* `master` -1: without a terminal of its own. */
static int run(struct entry *e, struct tty *t, int master, int *ret_code,
	       struct error *err)
{
	int fds[2], rc, by = 0;
	sigset_t all, before;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return error_errno(err, errno, "pipe");
	cleanup_fd int in = fds[0];
	e->failure = fds[1];
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (!pid)
		enter(e, &all);
	close(fds[1]);
	if (master >= 0)
		close(e->out);
	rc = pid < 0 ? error_errno(err, errno, "starting a process")
		     : read_failure(e, in, err);
	if (!rc && master >= 0 && !(rc = tty_attach(t, master, err)))
		by = pass_output(master, pid, &all);
	if (pid > 0)
		*ret_code = rc || master >= 0 ? reap(pid)
			    : e->opts->quiet  ? wait_quietly(pid)
					      : wait_for(pid, &all);
	if (by)
		*ret_code = BY_SIGNAL + by;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int enter_run(const struct enter_opts *opts, int *ret_code, struct error *err)
{
	struct entry e = { .opts = opts,
			   .pidfd = -1,
			   .in = opts->input ? opts->in : -1,
			   .out = opts->output };
	cleanup_fd int master = -1;
	struct tty t = { .keys = -1 };
	int rc = find_container(&e, err), slave;

	if (!rc && opts->terminal) {
		rc = tty_open(&t, &master, &slave, err);
		e.in = e.out = slave;
	}
	if (!rc)
		rc = run(&e, &t, master, ret_code, err);
	tty_detach(&t);
	if (e.pidfd >= 0)
		close(e.pidfd);
	arena_clear(&e.arena);
	return rc;
}
