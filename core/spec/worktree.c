/* worktree.c - ask git for the commit of a directory (spec/worktree.h). */
#include "spec/worktree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/str.h"

extern char **environ;

enum {
	SHORTEST = 40, /* digits of SHA-1 */
	LONGEST = 64,  /* and of SHA-256 */
	MAX_OUTPUT = 64 * 1024,
	MAX_FILTERS = 100, /* of which each has four words */
	MAX_WORDS = 16 + 4 * MAX_FILTERS,
};

struct words {
	const char *list[MAX_WORDS + 1];
	size_t n;
};

static void add_word(struct words *w, const char *word)
{
	if (w->n < MAX_WORDS)
		w->list[w->n++] = word;
}

static struct words git(const char *dir)
{
	return (struct words){ { "git", "-C", dir, "--no-optional-locks" }, 4 };
}

/* Without protocols: objects that are missing are not fetched by the tree's commands. */
static char **environment(struct arena *arena)
{
	size_t n = 0;
	char **ret;

	while (environ[n])
		n++;
	ret = arena_alloc(arena, (n + 2) * sizeof(*ret));
	ret[0] = arena_strdup(arena, "GIT_ALLOW_PROTOCOL=");
	memcpy(ret + 1, environ, (n + 1) * sizeof(*ret));
	return ret;
}

/* Git's output, to its end or to MAX_OUTPUT, and its exit status, -1 for another end. */
static int ask(const struct words *w, struct arena *arena, struct buf *out)
{
	int ends[2], status = -1;
	pid_t pid;

	out->max = MAX_OUTPUT;
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	const struct spawn s = { .path = w->list[0],
				 .argv = (char *const *)(uintptr_t)w->list,
				 .envp = environment(arena),
				 .fds = { -1, ends[1], -1 } };
	int rc = spawn_program(&pid, &s);

	close(ends[1]);
	if (!rc && file_read_fd(out, ends[0], "git", IGNORED))
		out->overflowed = true; /* incomplete, whatever the reason */
	close(ends[0]);
	while (!rc && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return !rc && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* "40 or 64 digits\n"; NULL: something else. */
static const char *head_of(struct arena *arena, const char *dir)
{
	cleanup_buf struct buf out = { 0 };
	struct words w = git(dir);
	size_t n;

	add_word(&w, "rev-parse");
	add_word(&w, "--verify");
	add_word(&w, "HEAD");
	if (ask(&w, arena, &out) || !out.len)
		return NULL;
	buf_adds(&out, "");
	n = strspn((const char *)out.data, "0123456789abcdef");
	return (n == SHORTEST || n == LONGEST) && n + 1 == out.len
		       ? str_slice(arena, (const char *)out.data, n)
		       : NULL;
}

/* Switch off the programs of one key, "filter.NAME.clean". */
static int switch_off(struct words *w, struct arena *arena, const char *key)
{
	const char *dot = strrchr(key, '.');

	if (!dot || strchr(key, '=') || w->n + 4 > MAX_WORDS)
		return -1;
	add_word(w, "-c");
	add_word(w, arena_printf(arena, "%s=", key));
	add_word(w, "-c");
	add_word(w, arena_printf(arena, "%.*s.required=false", (int)(dot - key), key));
	return 0;
}

/* The filters of the tree's own configuration, not those of its user. */
static int switch_off_filters(struct words *w, struct arena *arena, const char *dir)
{
	cleanup_buf struct buf out = { 0 };
	struct words how = git(dir);
	const char *p, *end;
	int status;

	add_word(&how, "config");
	add_word(&how, "--show-scope");
	add_word(&how, "--name-only");
	add_word(&how, "-z");
	add_word(&how, "--get-regexp");
	add_word(&how, "^filter\\..*\\.(clean|process)$");
	status = ask(&how, arena, &out);
	if (out.overflowed || (status != 0 && status != 1) ||
	    (out.len && out.data[out.len - 1]))
		return -1;
	if (!out.len)
		return 0;
	p = (const char *)out.data;
	for (end = p + out.len; p < end;) {
		const char *scope = p, *key = scope + strlen(scope) + 1;

		if (key >= end)
			return -1;
		if (!str_eq(scope, "system") && !str_eq(scope, "global") &&
		    switch_off(w, arena, key))
			return -1;
		p = key + strlen(key) + 1;
	}
	return 0;
}

/* 1: tracked files differ from the commit; 0: none does; -1: git does not say. */
static int is_dirty(struct arena *arena, const char *dir)
{
	cleanup_buf struct buf out = { 0 };
	struct words w = git(dir);
	int status;

	add_word(&w, "-c");
	add_word(&w, "core.fsmonitor=false");
	if (switch_off_filters(&w, arena, dir))
		return -1;
	add_word(&w, "status");
	add_word(&w, "--porcelain");
	add_word(&w, "--untracked-files=no");
	add_word(&w, "--ignore-submodules=dirty");
	status = ask(&w, arena, &out);
	return out.len || out.overflowed ? 1 : status ? -1 : 0;
}

const char *worktree_commit(struct arena *arena, const char *dir)
{
	const char *head = head_of(arena, dir);
	int dirty = head ? is_dirty(arena, dir) : -1;

	if (dirty < 0)
		return NULL;
	return dirty ? arena_printf(arena, "%s-dirty", head) : head;
}
