/*
 * rerun_session.c - runtime rerun: in rank 0's container, connect a client of `kftrainer
 * rerun` to the supervisor (supervise/dev.h). The bytes pass as they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "pack/pack.h"

struct session_opts {
	const char *dir;
};

static const struct opt opts_table[] = {
	OPT_STR(0, "dev", "DIR", "that of 'kftrainer runtime supervise'",
		struct session_opts, dir),
	{ .type = OPT_END },
};

static int connect_to(int *ret, const char *dir, struct error *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	cleanup_fd int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (at < 0)
		return error_errno(err, errno, "%s", dir);
	*ret = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof(a.sun_path),
		 "/proc/self/fd/%d/" PACK_RECEIVED "/socket", at);
	return *ret < 0 || connect(*ret, (struct sockaddr *)&a, sizeof(a))
		       ? error_errno(err, errno, "the supervisor of this container")
		       : 0;
}

/* false: at the end of `from`, or if `to` takes no more. */
static bool pass(int from, int to)
{
	char data[32 * 1024];
	ssize_t n = read(from, data, sizeof(data));

	if (n < 0)
		return errno == EINTR;
	return n && !file_write_fd(to, data, (size_t)n, "", IGNORED);
}

/*
 * Until the supervisor has said all, or the client has gone. A supervisor that reads no
 * more says why.
 */
static void pass_all(int fd)
{
	struct pollfd p[] = { { STDIN_FILENO, POLLIN, 0 }, { fd, POLLIN, 0 } };
	char data[1];

	while (poll(p, N_ELEMENTS(p), -1) >= 0 || errno == EINTR) {
		if (p[1].revents && !pass(fd, STDOUT_FILENO))
			return;
		if (!p[0].revents || pass(STDIN_FILENO, fd))
			continue;
		if (send(fd, data, 0, MSG_NOSIGNAL) == 0)
			return; /* the client has */
		p[0].fd = -1;
	}
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct session_opts *o = values;
	cleanup_fd int fd = -1;

	if (argc || !o->dir)
		return error_set(err, ERR_USAGE, "--dev is required, and no argument");
	if (connect_to(&fd, o->dir, err))
		return -1;
	signal(SIGPIPE, SIG_IGN);
	pass_all(fd);
	return EXIT_OK;
}

const struct cmd cmd_runtime_rerun = {
	.name = "rerun",
	.args = "--dev DIR",
	.summary = "connect 'kftrainer rerun' to the supervisor of this container",
	.about = "'kftrainer rerun' runs it in the container of rank 0.",
	.example = "kftrainer runtime rerun --dev /mnt/workspace",
	.opts = opts_table,
	.opts_size = sizeof(struct session_opts),
	.flags = CMD_IN_POD | CMD_HIDDEN,
	.run = run,
};
