/* dump.c - the processes of a command that stands still (supervise/dump.h). */
#include "supervise/dump.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "supervise/message.h"
#include "supervise/stacks.h"

enum {
	MOST = 32768,    /* processes of the machine that are looked at */
	MOST_SHOWN = 64, /* with a line, and a stack: those nearest to the command */
	MOST_LEVELS = 64,
	ENVIRON_BYTES = 256 * 1024,
	CAPTURE_BYTES = 256 * 1024,
	ONE_MS = 1000, /* for one process to end, at least */
	WRITES = 1024, /* bytes in a millisecond */
};

struct process {
	int64_t pid, parent, ticks; /* ticks: of CPU time */
	int level;                  /* 1: our child; 0: no descendant */
	bool has_children;
	char state, name[20];
};

/* False: it is gone. */
static bool read_process(struct process *ret, int64_t pid)
{
	char path[64], text[512], *begin, *after;
	long long parent, user, system;
	cleanup_fd int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	begin = strchr(text, '(');
	after = strrchr(text, ')'); /* a name may contain any character */
	if (!begin || !after ||
	    sscanf(after + 1, " %c %lld %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld",
		   &ret->state, &parent, &user, &system) != 4)
		return false;
	ret->pid = pid;
	ret->parent = parent;
	ret->ticks = user + system;
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(after - begin - 1),
		 begin + 1);
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int deepest_first(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return x->level != y->level ? y->level - x->level : by_pid(a, b);
}

/* How far below this process it is. */
static int level_of(struct process *list, size_t n, struct process *p)
{
	for (int level = 1; level < MOST_LEVELS; level++) {
		const struct process key = { .pid = p->parent };

		if (p->parent == getpid())
			return level;
		p = bsearch(&key, list, n, sizeof(key), by_pid);
		if (!p)
			return 0;
	}
	return 0;
}

/* The descendants of this process, in an array to be freed, the deepest first. */
static struct process *descendants(size_t *ret_n)
{
	struct process *list = xcalloc(MOST, sizeof(*list));
	DIR *dir = opendir("/proc");
	size_t n = 0, kept = 0;

	for (const struct dirent *e; dir && n < MOST && (e = readdir(dir));)
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
		    read_process(&list[n], strtoll(e->d_name, NULL, 10)))
			n++;
	if (dir)
		closedir(dir);
	qsort(list, n, sizeof(*list), by_pid);
	for (size_t i = 0; i < n; i++) {
		const struct process key = { .pid = list[i].parent };
		struct process *parent = bsearch(&key, list, n, sizeof(key), by_pid);

		list[i].level = level_of(list, n, &list[i]);
		if (parent && list[i].state != 'Z')
			parent->has_children = true;
	}
	for (size_t i = 0; i < n; i++)
		if (list[i].level && list[i].state != 'Z')
			list[kept++] = list[i];
	qsort(list, kept, sizeof(*list), deepest_first);
	*ret_n = kept;
	return list;
}

static void say_process(const struct dump *d, const struct process *p)
{
	cleanup_arena struct arena a = { 0 };
	const char *path = arena_printf(&a, "/proc/%" PRId64 "/wchan", p->pid);
	const char *in = file_first_line(&a, path);
	int64_t ms = p->ticks * 1000 / sysconf(_SC_CLK_TCK);
	bool known = *in && !str_eq(in, "0");

	d->say(d->say_ctx,
	       arena_printf(&a,
			    "process %" PRId64 " (%s): state %c%s%s, %lld.%lld s of CPU",
			    p->pid, str_visible(&a, p->name, false), p->state,
			    known ? ", in " : "", known ? in : "", (long long)ms / 1000,
			    (long long)ms % 1000 / 100));
}

/* RANK of its environment, as torchrun sets it. */
static uint32_t rank_of(int64_t pid)
{
	cleanup_buf struct buf b = { .max = ENVIRON_BYTES };
	cleanup_arena struct arena a = { 0 };
	int64_t rank;

	if (file_read(&b, arena_printf(&a, "/proc/%" PRId64 "/environ", pid), IGNORED))
		return NO_RANK;
	for (size_t at = 0; at < b.len; at += strlen((char *)b.data + at) + 1) {
		const char *value = str_after((char *)b.data + at, "RANK=");

		if (value)
			return str_int(&rank, value, 0, NO_RANK - 1, IGNORED)
				       ? NO_RANK
				       : (uint32_t)rank;
	}
	return NO_RANK;
}

/* 1: neither a file nor a program that would get it (core(5)). */
static void limit_core(int64_t pid)
{
	struct rlimit old, none;

	if (prlimit((pid_t)pid, RLIMIT_CORE, NULL, &old))
		return;
	none = (struct rlimit){ old.rlim_max ? 1 : 0, old.rlim_max };
	prlimit((pid_t)pid, RLIMIT_CORE, &none, NULL);
}

static void wait_for_end(int64_t pid, int64_t until)
{
	struct process p;

	while (clock_ms() < until && read_process(&p, pid) && p.state != 'Z')
		clock_sleep_ms(2);
}

static void abort_process(const struct dump *d, const struct process *p, int64_t end,
			  int64_t until)
{
	cleanup_buf struct buf written = { .max = CAPTURE_BYTES };
	cleanup_buf struct buf stack = { .max = STACK_MAX };
	uint32_t who = rank_of(p->pid);

	relay_capture(d->out, &written);
	limit_core(p->pid);
	kill((pid_t)p->pid, SIGABRT);
	kill((pid_t)p->pid, SIGCONT);
	wait_for_end(p->pid, end < until ? end : until);
	for (int i = 0; i < 2 && clock_ms() < until; i++)
		relay_drain(&d->out[i]);
	relay_capture(d->out, NULL);
	stack_read(&stack, (const char *)written.data, written.len);
	if (stack.len)
		d->stack(d->stack_ctx, who, &stack);
}

/*
 * One after the other, as their texts would mix; the children first, as a launcher that
 * sees one end would end the others. Those without children share the time, but half of it
 * is for the others.
 */
static void abort_all(const struct dump *d, const struct process *list, size_t n,
		      size_t first)
{
	int64_t until = clock_ms() + DUMP_MS;
	size_t left[2] = { 0 }; /* by has_children */

	for (size_t i = 0; i < n; i++) {
		if (list[i].has_children)
			kill((pid_t)list[i].pid, SIGSTOP);
		left[list[i].has_children] += i >= first;
	}
	for (size_t i = 0; i < n; i++) {
		bool parent = list[i].has_children;
		int64_t now = clock_ms();
		int64_t end = !parent && left[true] ? until - DUMP_MS / 2 : until, share;

		if (i < first || now > end) {
			kill((pid_t)list[i].pid, SIGKILL);
			continue;
		}
		share = (end - now) / (int64_t)left[parent]--;
		end = now + (share > ONE_MS ? share : ONE_MS);
		abort_process(d, &list[i], end, until);
	}
}

void dump_processes(const struct dump *d)
{
	size_t n, first;
	struct process *list = descendants(&n);

	first = n > MOST_SHOWN ? n - MOST_SHOWN : 0;
	for (size_t i = first; i < n; i++)
		say_process(d, &list[i]);
	abort_all(d, list, n, first);
	free(list);
}

/* By write(2) and its like; 0: another user's, or gone. */
static int64_t written_by(int64_t pid)
{
	cleanup_buf struct buf io = { .max = 4096 };
	cleanup_arena struct arena a = { 0 };
	const char *at = NULL;

	if (!file_read(&io, arena_printf(&a, "/proc/%" PRId64 "/io", pid), IGNORED) &&
	    io.len)
		at = strstr((const char *)io.data, "wchar: ");
	return at ? strtoll(at + strlen("wchar: "), NULL, 10) : 0;
}

bool dump_is_writing(struct dump_writes *before, int64_t every_ms, int64_t now)
{
	int64_t elapsed = now - before->at, bytes = 0, more;
	struct process *list;
	size_t n;

	if (elapsed < every_ms)
		return false;
	list = descendants(&n);
	for (size_t i = 0; i < n; i++)
		bytes += written_by(list[i].pid);
	free(list);
	more = bytes - before->bytes;
	*before = (struct dump_writes){ now, bytes };
	return more / elapsed >= WRITES;
}
