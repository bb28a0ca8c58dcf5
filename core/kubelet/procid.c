/* procid.c - identify a process across boots, namespaces and hosts (kubelet/procid.h). */
#include "kubelet/procid.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"

struct procid {
	int pid;
	uint64_t ns, start;
	char boot[40], host[PROCID_HOST_SIZE];
};

/* Fields of /proc/PID/stat, by the blanks after the name that come before them. */
enum {
	TO_PARENT = 2,
	TO_START = 20, /* clock ticks after the boot */
};

/* The fields after the name in /proc/PID/stat; NULL: no such process. */
static const char *read_stat(int pid, struct buf *b)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(b, path, IGNORED) || !b->data)
		return NULL;
	return strrchr((const char *)b->data, ')');
}

bool procid_is_stopped(int pid)
{
	cleanup_buf struct buf b = { .max = 4096 };
	const char *p = read_stat(pid, &b);

	return p && str_starts(p, ") T");
}

/* 0: no such process. */
static uint64_t stat_field(int pid, int spaces)
{
	cleanup_buf struct buf b = { .max = 4096 };
	const char *p = read_stat(pid, &b);
	uint64_t ret = 0;

	for (int i = 0; p && i < spaces; i++)
		p = strchr(p + 1, ' ');
	return p && sscanf(p, " %" SCNu64, &ret) == 1 ? ret : 0;
}

int procid_parent(int pid)
{
	return (int)stat_field(pid, TO_PARENT);
}

static struct procid of(int pid)
{
	cleanup_arena struct arena a = { 0 };
	const char *boot = file_first_line(&a, "/proc/sys/kernel/random/boot_id");
	struct procid m = { .pid = pid, .boot = "-", .host = "-" };
	struct utsname u;
	struct stat st;

	if (*boot)
		snprintf(m.boot, sizeof(m.boot), "%s", boot);
	if (!uname(&u) && *u.nodename)
		snprintf(m.host, sizeof(m.host), "%.64s", u.nodename);
	if (!stat("/proc/self/ns/pid", &st))
		m.ns = st.st_ino;
	m.start = stat_field(m.pid, TO_START);
	return m;
}

const char *procid_of(int pid, char text[PROCID_SIZE])
{
	struct procid m = of(pid);

	snprintf(text, PROCID_SIZE, "%d %" PRIu64 " %" PRIu64 " %s %s", m.pid, m.ns,
		 m.start, m.boot, m.host);
	return text;
}

const char *procid_self(char text[PROCID_SIZE])
{
	return procid_of(getpid(), text);
}

enum procid_state procid_find(const char *text, int *ret_pid,
			      char ret_host[PROCID_HOST_SIZE])
{
	struct procid self = of(getpid()), m = { 0 };

	if (sscanf(text, "%d %" SCNu64 " %" SCNu64 " %39s %64s", &m.pid, &m.ns, &m.start,
		   m.boot, m.host) != 5 ||
	    m.pid < 1)
		return PROCID_UNREADABLE;
	memcpy(ret_host, m.host, PROCID_HOST_SIZE);
	if (!str_eq(m.boot, self.boot))
		return str_eq(m.host, self.host) ? PROCID_ENDED : PROCID_OTHER_HOST;
	if (m.ns != self.ns)
		return PROCID_OTHER_NAMESPACE;
	*ret_pid = m.pid;
	return stat_field(m.pid, TO_START) == m.start ? PROCID_RUNNING : PROCID_ENDED;
}

/* ---- of a lock ----------------------------------------------------------------------- */

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static bool is_locked(int pid, const char *fd)
{
	cleanup_buf struct buf b = { .max = 4096 };
	cleanup_arena struct arena a = { 0 };

	if (file_read(&b, arena_printf(&a, "/proc/%d/fdinfo/%s", pid, fd), IGNORED))
		return false;
	buf_adds(&b, "");
	return strstr((const char *)b.data, "OFDLCK") != NULL;
}

static bool holds(int pid, const struct stat *file)
{
	cleanup_arena struct arena a = { 0 };
	__attribute__((cleanup(cleanup_dir))) DIR *dir =
		opendir(arena_printf(&a, "/proc/%d/fd", pid));
	const struct dirent *e;
	struct stat st;

	while (dir && (e = readdir(dir)))
		if (!fstatat(dirfd(dir), e->d_name, &st, 0) &&
		    st.st_ino == file->st_ino && st.st_dev == file->st_dev &&
		    is_locked(pid, e->d_name))
			return true;
	return false;
}

int procid_holder(const char *path)
{
	__attribute__((cleanup(cleanup_dir))) DIR *all = opendir("/proc");
	const struct dirent *e;
	struct stat file;

	if (!all || stat(path, &file))
		return 0;
	while ((e = readdir(all))) {
		int64_t pid;

		if (!str_int(&pid, e->d_name, 1, INT32_MAX, IGNORED) &&
		    holds((int)pid, &file) && !holds(procid_parent((int)pid), &file))
			return (int)pid;
	}
	return 0;
}
