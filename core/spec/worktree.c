/* worktree.c - ask git for the commit of a directory (spec/worktree.h). */
#include "spec/worktree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/spawn.h"
#include "base/str.h"

extern char **environ;

enum { SHORTEST = 40, LONGEST = 64 }; /* digits of SHA-1 and SHA-256 */

static bool is_commit(const char *text)
{
	size_t n = strspn(text, "0123456789abcdef");

	return (n == SHORTEST || n == LONGEST) &&
	       (!text[n] || str_eq(text + n, "-dirty"));
}

const char *worktree_commit(struct arena *arena, const char *dir)
{
	const char *const argv[] = {
		"git",      "-C",          dir,       "--no-optional-locks", "describe",
		"--always", "--abbrev=64", "--dirty", "--exclude=*",         NULL
	};
	char text[128];
	ssize_t n, len = 0;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	cleanup_fd int from = ends[0];
	int rc = spawn_program(&pid, &(const struct spawn){ .path = argv[0],
							    .argv = (char *const *)argv,
							    .envp = environ,
							    .fds = { -1, ends[1], -1 } });

	close(ends[1]);
	if (rc)
		return NULL;
	while (len < (ssize_t)sizeof(text) &&
	       ((n = read(from, text + len, sizeof(text) - (size_t)len)) > 0 ||
		(n < 0 && errno == EINTR)))
		len += n > 0 ? n : 0;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (len < 1 || text[len - 1] != '\n')
		return NULL;
	text[len - 1] = 0;
	return is_commit(text) ? arena_strdup(arena, text) : NULL;
}
