/* packages.c - find what pip would change, and cover it (kubelet/packages.h). */
#include "kubelet/packages.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/str.h"

enum { ANSWER_MAX = 64 * 1024, ANSWER_MS = 20000 };

/* Is it a word of the text, as "pip" is of "python -m pip3" and not of "--pip", "pipeline"? */
static bool has_word(const char *text, const char *word)
{
	const char *at = text;

	for (; (at = strstr(at, word)) != NULL; at++) {
		char after = at[strlen(word)];

		if ((at == text ||
		     (!isalnum((unsigned char)at[-1]) && !strchr("-_.", at[-1]))) &&
		    !isalpha((unsigned char)after) && after != '-' && after != '_')
			return true;
	}
	return false;
}

bool packages_installed(const struct podenv *env)
{
	static const char *const installers[] = { "pip", "uv", "conda", "mamba" };
	bool named = false;

	for (size_t i = 0; env->argv[i]; i++) {
		for (size_t k = 0; k < N_ELEMENTS(installers); k++)
			named |= has_word(env->argv[i], installers[k]);
		if (named && has_word(env->argv[i], "install"))
			return true;
	}
	return false;
}

/*
 * Each Python of PATH prints the directories that it installs into: an environment as a
 * whole, else packages and scripts, the machine's and the user's; "user" if the user has
 * no packages.
 */
static const char ask[] =
	"import os, sys, sysconfig, site\n"
	"if sys.prefix != sys.base_prefix or os.path.isdir(sys.prefix + '/conda-meta'):\n"
	"    print(sys.prefix)\n"
	"else:\n"
	"    print(*map(sysconfig.get_path, ('purelib', 'platlib', 'scripts')), sep='\\n')\n"
	"    user = site.getusersitepackages()\n"
	"    if os.path.isdir(user):\n"
	"        print(user, site.getuserbase() + '/bin', sep='\\n')\n"
	"    else:\n"
	"        print('user')\n";

static int spawn_pythons(const struct podenv *env, int output, pid_t *ret)
{
	static const char each[] = "cd / && for p in python python3; do "
				   "command -v $p >/dev/null && $p -c \"$0\"; done";
	const char *const words[] = { "sh", "-c", each, ask, NULL };
	const struct spawn sh = {
		"/bin/sh",          (char *const *)words, (char *const *)env->envp,
		{ -1, output, -1 }, SPAWN_RESET,          true
	};

	return spawn_program(ret, &sh);
}

/* Reads the output of the Pythons until they end, the time is over or it is too long. */
static void ask_pythons(const struct podenv *env, struct buf *ret)
{
	int64_t until = clock_ms() + ANSWER_MS, left;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return;
	cleanup_fd int from = ends[0];
	bool started = !spawn_pythons(env, ends[1], &pid);
	close(ends[1]);
	while (started && (left = until - clock_ms()) > 0) {
		struct pollfd p = { .fd = from, .events = POLLIN };
		char data[4096];
		ssize_t n =
			poll(&p, 1, (int)left) > 0 ? read(from, data, sizeof(data)) : -1;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || ret->len + (size_t)n > ret->max)
			break;
		buf_add(ret, data, (size_t)n);
	}
	if (!started)
		return;
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool is_covered(const struct mount_list *list, size_t from, const char *dir)
{
	for (size_t i = from; i < list->n; i++)
		if (str_eq(dir, list->mounts[i].target) ||
		    path_below(dir, list->mounts[i].target))
			return true;
	return false;
}

/* Can the directory be written or, if it is missing, be made? */
static bool is_changeable(struct arena *arena, const char *dir)
{
	return !access(file_exists(dir) ? dir : path_dir(arena, dir), W_OK);
}

static int cover(struct arena *arena, const char *dir, const char *target,
		 struct mount_list *list, struct error *err)
{
	struct volume_mount *m = &list->mounts[list->n];

	*m = (struct volume_mount){ .source = arena_printf(arena, "%s/%zu", dir, list->n),
				    .target = target,
				    .is_dir = true,
				    .overlay = true };
	list->n++;
	return dir_make(m->source, 0700, err);
}

int packages_cover(struct arena *arena, const char *dir, bool mounts, struct podenv *env,
		   struct mount_list *list, struct error *err)
{
	cleanup_buf struct buf answer = { .max = ANSWER_MAX };
	size_t from = list->n;
	char **lines;

	if (dir_make(dir, 0700, err))
		return -1;
	if (!mounts) {
		podenv_set(arena, env, "PIP_TARGET", dir);
		podenv_prepend(arena, env, "PYTHONPATH", dir);
		return 0;
	}
	ask_pythons(env, &answer);
	lines = str_split(arena, answer.len ? (char *)answer.data : (char[]){ "" }, '\n',
			  NULL);
	for (; *lines && list->n < from + PACKAGES_MAX; lines++) {
		if (str_eq(*lines, "user"))
			podenv_set(arena, env, "PYTHONUSERBASE",
				   path_join(arena, dir, "user"));
		if (**lines == '/' && is_changeable(arena, *lines) &&
		    !is_covered(list, from, *lines) &&
		    cover(arena, dir, *lines, list, err))
			return -1;
	}
	return 0;
}
