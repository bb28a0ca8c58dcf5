/* sandbox.c - clone the init process, start the command, reap it (kubelet/sandbox.h). */
#include "kubelet/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/spawn.h"
#include "kubelet/sandbox_impl.h"

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127, NOT_STARTED = 128 };

/* KILL, for an init process that is not process 1. Batch systems send SIGUSR1 to all processes. */
enum { KILL_ALL = SIGPWR };

/* ---- after the clone: no allocation, no locks -------------------------------- */

void sandbox_join(char *to, size_t size, const char *a, const char *b, const char *c)
{
	const char *parts[] = { a, b, c };
	size_t at = 0;

	for (size_t i = 0; i < 3; i++)
		for (const char *p = parts[i]; *p && at + 1 < size; p++)
			to[at++] = *p;
	to[at] = 0;
}

struct linux_dirent {
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};

int sandbox_each_entry(int dir, int (*fn)(void *ctx, const char *name), void *ctx)
{
	_Alignas(8) char data[4096];

	for (;;) {
		long n = syscall(SYS_getdents64, dir, data, sizeof(data));

		if (n <= 0)
			return (int)n;
		for (long at = 0; at < n;) {
			const struct linux_dirent *d = (const void *)(data + at);

			at += d->len;
			if (strcmp(d->name, ".") == 0 || strcmp(d->name, "..") == 0)
				continue;
			if (fn(ctx, d->name) < 0)
				return -1;
		}
	}
}

static void report(const struct sandbox_plan *plan, int fd,
		   const struct sandbox_report *r)
{
	struct sandbox_report copy = *r;

	copy.id = plan->id;
	while (write(fd, &copy, sizeof(copy)) < 0 && errno == EINTR)
		;
}

static _Noreturn void fail(const struct sandbox_plan *plan, int fd, int code,
			   const char *what)
{
	struct sandbox_report r = { .type = REPORT_FAILED, .code = code, .err = errno };

	sandbox_join(r.what, sizeof(r.what), what, "", "");
	report(plan, fd, &r);
	_exit(1);
}

static int write_file(const char *path, const char *text)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

void sandbox_digits(char *to, size_t size, unsigned n)
{
	char digits[16];
	size_t at = sizeof(digits) - 1;

	digits[at] = 0;
	do
		digits[--at] = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	sandbox_join(to, size, digits + at, "", "");
}

/* "1000 1000 1" */
static void map_line(char *to, size_t size, unsigned id)
{
	char digits[16];

	sandbox_digits(digits, sizeof(digits), id);
	sandbox_join(to, size, digits, " ", digits);
	sandbox_join(to + strlen(to), size - strlen(to), " 1", "", "");
}

static int map_ids(uid_t uid, gid_t gid)
{
	char line[48];

	if (write_file("/proc/self/setgroups", "deny") < 0 && errno != ENOENT)
		return -1;
	map_line(line, sizeof(line), uid);
	if (write_file("/proc/self/uid_map", line) < 0)
		return -1;
	map_line(line, sizeof(line), gid);
	return write_file("/proc/self/gid_map", line);
}

/* Set up fds 0, 1, 2; close all others but that of the reports, which is returned. */
static int keep_fds(const struct sandbox_plan *plan)
{
	int to = fcntl(plan->report, F_DUPFD_CLOEXEC, 10);
	int out = fcntl(plan->output, F_DUPFD_CLOEXEC, 10);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int high = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, 10);

	if (to < 0 || out < 0 || high < 0 || dup2(plan->terminal ? out : high, 0) < 0 ||
	    dup2(out, 1) < 0 || dup2(out, 2) < 0)
		return -1;
	/* ENOSYS (before Linux 5.9) is harmless: all are close-on-exec. */
	syscall(SYS_close_range, 3, to - 1, 0);
	syscall(SYS_close_range, to + 1, ~0U, 0);
	return to;
}

static bool enter_cgroups(const struct sandbox_plan *plan)
{
	for (int i = 0; i < 2; i++)
		if (plan->cgroup[i] >= 0 && write(plan->cgroup[i], "0", 1) < 0)
			return false;
	return true;
}

static bool parent_is_gone(int report_fd)
{
	struct pollfd p = { .fd = report_fd, .events = POLLOUT };

	return poll(&p, 1, 0) > 0 && (p.revents & POLLERR);
}

/* Describe the error of execve(). */
static int exec_failure(const char *file, struct sandbox_report *r)
{
	const char *text, *fault;

	r->err = errno;
	r->code = r->err == ENOENT || r->err == ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE;
	fault = spawn_fault(file, r->err);
	if (r->code == NOT_FOUND && (!strchr(file, '/') || access(file, F_OK) != 0))
		text = "command not found";
	else if (fault)
		text = fault;
	else if (r->code == NOT_FOUND)
		text = "interpreter (#! line or dynamic loader) not found";
	else if (r->err == EACCES || r->err == EISDIR || r->err == ENOEXEC)
		text = "not executable";
	else if (r->err == E2BIG)
		text = "the arguments and the environment are too long for execve()";
	else
		text = "cannot execute";
	sandbox_join(r->what, sizeof(r->what), text, ": ", file);
	return -1;
}

static const char *path_of(const char *const *envp)
{
	for (size_t i = 0; envp[i]; i++)
		if (strncmp(envp[i], "PATH=", 5) == 0)
			return envp[i] + 5;
	return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

/* Returns only on failure, described in *r. */
static int exec_main(const struct sandbox_plan *plan, struct sandbox_report *r)
{
	char *const *argv = (char *const *)(uintptr_t)plan->argv;
	char *const *envp = (char *const *)(uintptr_t)plan->envp;
	const char *file = argv[0];
	char path[PATH_MAX], found[PATH_MAX] = "";
	int err = ENOENT, number;

	if (strchr(file, '/')) {
		execve(file, argv, envp);
		return exec_failure(file, r);
	}
	for (const char *p = path_of(plan->envp); *file;) {
		size_t len = strcspn(p, ":");

		if (len + 1 + strlen(file) < sizeof(path)) {
			memcpy(path, p, len);
			path[len] = 0;
			sandbox_join(path + len, sizeof(path) - len, len ? "/" : "", file,
				     "");
			execve(path, argv, envp);
			number = errno;
			if (number != ENOENT && number != ENOTDIR && number != EACCES)
				return exec_failure(path, r);
			/* Not of a directory of PATH, but of a file that is there. */
			if (!*found && access(path, F_OK) == 0) {
				err = number;
				sandbox_join(found, sizeof(found), path, "", "");
			}
		}
		if (!p[len])
			break;
		p += len + 1;
	}
	errno = err;
	return exec_failure(*found ? found : file, r);
}

/* Runs between vfork() and execve(), in the init process's memory. */
static _Noreturn void main_process(const struct sandbox_plan *plan,
				   struct sandbox_report *r)
{
	/* The kernel's struct sigaction, which is smaller on every machine: SIG_DFL. */
	static const unsigned long dfl[8];
	sigset_t none;

	/*
	 * Reset ignored signals, too, such as SIGPIPE; libc's sigaction() refuses some.
	 */
	for (int sig = 1; sig <= 64; sig++)
		syscall(SYS_rt_sigaction, sig, dfl, NULL, 8);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (plan->terminal)
		ioctl(STDIN_FILENO, TIOCSCTTY, 0);
	if (!(plan->kind & SANDBOX_PID) || plan->join)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (plan->nofile.rlim_max)
		setrlimit(RLIMIT_NOFILE, &plan->nofile);
	exec_main(plan, r);
	_exit(1);
}

static __attribute__((noinline)) pid_t start_main(const struct sandbox_plan *plan,
						  struct sandbox_report *r)
{
	pid_t pid = vfork();

	if (pid == 0)
		main_process(plan, r);
	/* gcc's IPA ignores stores of functions that do not return. */
	__asm__ volatile("" : : "r"(r) : "memory");
	return pid;
}

struct kill_ctx {
	pid_t self;
	int proc;
};

static int kill_if_child(void *arg, const char *name)
{
	const struct kill_ctx *ctx = arg;
	char path[300], stat[512];
	const char *p;
	pid_t pid = 0, parent = 0;
	ssize_t n;

	for (p = name; *p >= '0' && *p <= '9'; p++)
		pid = pid * 10 + (*p - '0');
	if (*p || pid == 0)
		return 0;
	sandbox_join(path, sizeof(path), name, "/stat", "");
	cleanup_fd int fd = openat(ctx->proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (n = read(fd, stat, sizeof(stat) - 1)) <= 0)
		return 0;
	stat[n] = 0;
	p = strrchr(stat, ')'); /* "12 (name) S 11 ..." */
	if (!p || strlen(p) < 5)
		return 0;
	for (p += 4; *p >= '0' && *p <= '9'; p++)
		parent = parent * 10 + (*p - '0');
	if (parent == ctx->self)
		kill(pid, SIGKILL);
	return 0;
}

/*
 * Kill children until none is left; as a subreaper we inherit the children of each.
 */
static void kill_all(void)
{
	struct kill_ctx ctx = { .self = getpid() };

	do {
		ctx.proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (ctx.proc >= 0) {
			sandbox_each_entry(ctx.proc, kill_if_child, &ctx);
			close(ctx.proc);
		}
		/* The children of each become ours: scan again. */
	} while (waitpid(-1, NULL, 0) > 0);
}

/* Reap; when the main process has ended, true and *ret is its wait status. */
static bool reap(pid_t main_pid, int *ret)
{
	bool ended = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == main_pid) {
			*ret = status;
			ended = true;
		}
	}
	return ended;
}

/*
 * Kill a command that was run in a container's PID namespace: its process group, because
 * /proc has the container's process numbers. Processes that left the group end with the
 * container.
 */
static void kill_main(pid_t main_pid)
{
	kill(-main_pid, SIGKILL);
	kill(main_pid, SIGKILL);
	while (waitpid(main_pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static _Noreturn void keep(const struct sandbox_plan *plan, int report_fd, pid_t main_pid)
{
	bool own_pids = (plan->kind & SANDBOX_PID) && !plan->join;
	struct sandbox_report r = { .type = REPORT_EXITED, .code = SIGKILL };
	bool foreign_pids = (plan->kind & SANDBOX_PID) && plan->join;
	sigset_t all;

	sigfillset(&all);
	for (;;) {
		int sig = sigwaitinfo(&all, NULL);

		if (sig == SIGCHLD && reap(main_pid, &r.code))
			break;
		if (sig == KILL_ALL && foreign_pids)
			kill_main(main_pid);
		if (sig == KILL_ALL && !own_pids) {
			r.code = SIGKILL;
			break;
		}
		if (sig > 0 && sig != SIGCHLD)
			kill(main_pid, sig);
	}
	if (!own_pids && !foreign_pids)
		kill_all();
	report(plan, report_fd, &r);
	_exit(0);
}

static int enter(const struct sandbox_plan *plan)
{
	int flags =
		(plan->kind & SANDBOX_USER ? CLONE_NEWUSER : 0) |
		(plan->kind & SANDBOX_MOUNT ? CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC
					    : 0) |
		(plan->kind & SANDBOX_PID ? CLONE_NEWPID : 0);
	cleanup_fd int fd = (int)syscall(SYS_pidfd_open, plan->join, 0);

	return fd < 0 || (flags && setns(fd, flags) < 0) ? -1 : 0;
}

static void set_up(const struct sandbox_plan *plan, int report_fd, uid_t uid, gid_t gid)
{
	char what[sizeof(((struct sandbox_report *)0)->what)];

	if (plan->join) {
		if (enter(plan) < 0)
			fail(plan, report_fd, NOT_STARTED, "entering the container");
	} else if (plan->kind) {
		if ((plan->kind & SANDBOX_USER) && map_ids(uid, gid) < 0)
			fail(plan, report_fd, NOT_STARTED, "mapping the user's id");
		if (sethostname(plan->hostname, strlen(plan->hostname)) < 0)
			fail(plan, report_fd, NOT_STARTED, "setting the hostname");
		if (sandbox_mounts(plan, what, sizeof(what)) < 0)
			fail(plan, report_fd, NOT_STARTED, what);
	}
	if (plan->workdir && chdir(plan->workdir) < 0) {
		sandbox_join(what, sizeof(what), "working directory ", plan->workdir, "");
		fail(plan, report_fd, NOT_STARTED, what);
	}
}

static _Noreturn void run_init(const struct sandbox_plan *plan, uid_t uid, gid_t gid)
{
	bool own_pids = (plan->kind & SANDBOX_PID) && !plan->join;
	struct sandbox_report r = { .type = REPORT_FAILED, .code = NOT_STARTED };
	int report_fd = plan->report;
	pid_t pid = -1;

	prctl(PR_SET_PDEATHSIG, own_pids ? SIGKILL : KILL_ALL, 0, 0, 0);
	prctl(PR_SET_NAME, "kftrainer-pod", 0, 0, 0);
	if (!own_pids)
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	setsid();
	if (!enter_cgroups(plan))
		fail(plan, report_fd, NOT_STARTED, "entering the control group");
	if ((report_fd = keep_fds(plan)) < 0)
		fail(plan, plan->report, NOT_STARTED, "setting up the output");
	set_up(plan, report_fd, uid, gid);
	if (parent_is_gone(report_fd))
		_exit(1);
	if (plan->argv) {
		pid = start_main(plan, &r);
		if (pid < 0)
			fail(plan, report_fd, NOT_STARTED, "starting a process");
		if (r.err) {
			report(plan, report_fd, &r);
			_exit(1);
		}
	}
	r.type = REPORT_STARTED;
	r.code = 0;
	report(plan, report_fd, &r);
	if (!plan->argv)
		_exit(0);
	keep(plan, report_fd, pid);
}

/* ---- the caller's side -------------------------------------------------------- */

int sandbox_check_kernel(struct error *err)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0), major, minor;
	struct utsname u;

	if (fd >= 0)
		close(fd);
	if (fd >= 0 || errno != ENOSYS || uname(&u) ||
	    sscanf(u.release, "%d.%d", &major, &minor) != 2 || major > 5 ||
	    (major == 5 && minor >= 3))
		return 0;
	return error_set(err, ERR_IO,
			 "this machine has Linux %s: local jobs need 5.3 or later",
			 u.release);
}

/*
 * Like fork(): the child continues on a copy of the stack. Neither musl nor glibc has a
 * fork that makes namespaces. Without namespaces only an emulator refuses the flags
 * (qemu-user knows no CLONE_PIDFD): the descriptor is opened then.
 */
static pid_t clone_process(unsigned long flags, int *ret_pidfd)
{
	pid_t pid = (pid_t)syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL,
				   ret_pidfd, NULL, NULL);

	if (pid >= 0 || errno != EINVAL || flags)
		return pid;
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid > 0)
		*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return pid;
}

int sandbox_spawn(const struct sandbox_plan *plan, pid_t *ret_pid, int *ret_pidfd,
		  struct error *err)
{
	unsigned long flags = 0;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	sigset_t all, before;
	int pidfd = -1, saved;
	pid_t pid;

	if (!plan->join) {
		flags |= plan->kind & SANDBOX_USER ? CLONE_NEWUSER : 0;
		flags |= plan->kind & SANDBOX_PID ? CLONE_NEWPID : 0;
		flags |= plan->kind & SANDBOX_MOUNT
				 ? CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC
				 : 0;
	}
	/* Signals remain blocked in the init process, which uses sigwaitinfo(). */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone_process(flags, &pidfd);
	if (pid == 0)
		run_init(plan, uid, gid);
	saved = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return error_errno(err, saved, "starting a process");
	if (pidfd < 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return error_set(err, ERR_UNSUPPORTED,
				 "this kernel is too old: Linux 5.3 or later is needed");
	}
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	return 0;
}

void sandbox_signal(const struct sandbox_plan *plan, pid_t init_pid, int sig)
{
	if (sig == SIGKILL && (!(plan->kind & SANDBOX_PID) || plan->join))
		sig = KILL_ALL;
	kill(init_pid, sig);
}

void sandbox_wait(pid_t init_pid)
{
	while (init_pid > 0 && waitpid(init_pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static bool read_report(int fd, struct sandbox_report *ret)
{
	ssize_t n;

	while ((n = read(fd, ret, sizeof(*ret))) < 0 && errno == EINTR)
		;
	return n == sizeof(*ret);
}

static bool kind_works(unsigned kind, const char *stage, pid_t *ret_trial)
{
	const struct mount_op ops[] = {
		{ .type = MOUNT_VIEW, .target = stage },
		{ .type = MOUNT_BIND, .source = stage, .target = stage },
	};
	struct sandbox_report r = { 0 };
	struct error err;
	int fds[2], pidfd;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return false;
	cleanup_fd int in = fds[0];
	cleanup_fd int out = fds[1];
	struct sandbox_plan plan = { .kind = kind,
				     .hostname = "localhost",
				     .stage = stage,
				     .mounts = ops,
				     .n_mounts = N_ELEMENTS(ops),
				     .output = out,
				     .report = out,
				     .cgroup = { -1, -1 } };
	if (sandbox_spawn(&plan, ret_trial, &pidfd, &err) < 0)
		return false;
	close(pidfd);
	close(out);
	out = -1;
	if (read_report(in, &r) && r.type == REPORT_STARTED)
		return true;
	sandbox_wait(*ret_trial);
	return false;
}

unsigned sandbox_probe(const char *stage, pid_t *ret_trial)
{
	static const unsigned kinds[] = {
		SANDBOX_MOUNT | SANDBOX_PID, SANDBOX_USER | SANDBOX_MOUNT | SANDBOX_PID,
		SANDBOX_USER | SANDBOX_MOUNT, /* in a container whose /proc is masked */
	};

	for (size_t i = geteuid() == 0 ? 0 : 1; i < N_ELEMENTS(kinds); i++)
		if (kind_works(kinds[i], stage, ret_trial))
			return kinds[i];
	*ret_trial = 0;
	return 0;
}
