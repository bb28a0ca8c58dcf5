/* spawn.c - start a program (base/spawn.h). */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/str.h"

/* flags: further ones of posix_spawnattr_setflags(3). */
static void set_attr(posix_spawnattr_t *attr, enum spawn_signals signals, short flags)
{
	sigset_t normal, none;

	sigemptyset(&none);
	if (signals == SPAWN_RESET) {
		sigfillset(&normal);
	} else {
		sigemptyset(&normal);
		sigaddset(&normal, SIGPIPE);
		sigaddset(&normal, SIGXFSZ);
	}
	posix_spawnattr_init(attr);
	posix_spawnattr_setflags(
		attr, (short)(flags | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
	posix_spawnattr_setsigdefault(attr, &normal);
	posix_spawnattr_setsigmask(attr, &none);
}

int spawn_program(pid_t *ret, const struct spawn *s)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int rc;

	set_attr(&attr, s->signals, s->group ? POSIX_SPAWN_SETPGROUP : 0);
	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < 3; i++)
		if (s->fds[i] < 0)
			posix_spawn_file_actions_addopen(&actions, i, "/dev/null",
							 i ? O_WRONLY : O_RDONLY, 0);
		else if (s->fds[i] != i)
			posix_spawn_file_actions_adddup2(&actions, s->fds[i], i);
	rc = posix_spawnp(ret, s->path, &actions, &attr, s->argv, s->envp);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return rc;
}

/* EACCES: of the file itself, of its file system, or of the interpreter that it names. */
static const char *denied(const char *path, bool script)
{
	struct statvfs fs;
	struct stat st;

	if (stat(path, &st))
		return NULL;
	if (S_ISDIR(st.st_mode))
		return SPAWN_FOLDER;
	if (!statvfs(path, &fs) && (fs.f_flag & ST_NOEXEC))
		return SPAWN_NOEXEC;
	return script && !access(path, X_OK) ? SPAWN_DENIED : NULL;
}

/* Is the whole line the name of a file? Linux ends the name at the first blank. */
static bool has_blank(const char *line, size_t n)
{
	const char *end = memchr(line, '\n', n);
	char name[256], *at;

	snprintf(name, sizeof(name), "%.*s", (int)(end ? (size_t)(end - line) : 0), line);
	at = *name ? name + 2 + strspn(name + 2, " \t") : name;
	return strpbrk(at, " \t") && !access(at, F_OK);
}

/* By the first line of a script, or the first bytes of a program. */
static const char *malformed(const char *line, size_t n, bool script, int number)
{
	static const char marked[] = STR_BOM "#!";
	const char *end = memchr(line, '\n', n);
	bool program = n >= 4 && !memcmp(line, "\177ELF", 4);

	if (n >= strlen(marked) && !memcmp(line, marked, strlen(marked)))
		return SPAWN_BOM;
	if (script && end && end[-1] == '\r')
		return SPAWN_CRLF;
	if (number == ENOEXEC)
		return script ? SPAWN_LINE : program ? SPAWN_FOREIGN : SPAWN_FORMAT;
	return script ? SPAWN_NO_INTERPRETER : program ? SPAWN_NO_LOADER : NULL;
}

const char *spawn_fault(const char *path, int number)
{
	char line[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line));
	bool script = n >= 2 && !memcmp(line, "#!", 2);

	if (fd >= 0)
		close(fd);
	if (script && (number == EACCES || number == ENOENT) &&
	    has_blank(line, (size_t)n))
		return SPAWN_BLANK;
	if (number == EACCES || number == EISDIR)
		return denied(path, script);
	if (n < 0 || (number != ENOENT && number != ENOTDIR && number != ENOEXEC))
		return NULL;
	return malformed(line, (size_t)n, script, number);
}

/* What stands where the name of a command belongs: by our message, or that of runc. */
static const char *name_remedy(const char *message)
{
	static const char *const of_shells[] = { "cd", "source", "export", "ulimit" };
	const char *ours = strstr(message, "command not found: ");
	const char *name =
		ours ? ours + strlen("command not found: ") : strstr(message, "exec: \"");
	size_t len;

	if (!name)
		return NULL;
	name += ours ? 0 : strlen("exec: \"");
	len = strcspn(name, ours ? "" : "\"");
	for (size_t i = 0; i < N_ELEMENTS(of_shells); i++)
		if (len == strlen(of_shells[i]) && !memcmp(name, of_shells[i], len))
			return "only a shell has this command: start one, with sh -c "
			       "'COMMANDS'";
	if (name[strcspn(name, "= /\"")] == '=')
		return "this is a variable, not a command: set it in env (--env)";
	if (!strchr("/.", *name) && memchr(name, ' ', len))
		return "these words are one: make each an item of command, or leave out "
		       "the quotes";
	return NULL;
}

const char *spawn_remedy(const char *message)
{
	static const struct {
		const char *text, *remedy;
	} rows[] = {
		{ SPAWN_CRLF, "convert it, as with sed -i 's/\\r$//'" },
		{ SPAWN_BOM, "remove the mark, as with sed -i '1s/^\\xef\\xbb\\xbf//'" },
		{ SPAWN_FORMAT, "begin it with a line such as #!/usr/bin/env python3, or "
				"start it with its interpreter" },
		{ SPAWN_LINE,
		  "start it with its interpreter, as python3 -m MODULE; Linux "
		  "takes 255 bytes, so a virtual environment wants a shorter "
		  "path" },
		{ SPAWN_FOREIGN,
		  "install it for this machine, whose kind uname -m prints" },
		{ SPAWN_NO_INTERPRETER,
		  "head -n 1 shows the interpreter's name; a virtual environment that was "
		  "moved, or whose Python was removed, has to be made again" },
		{ SPAWN_BLANK,
		  "Linux ends the name at the space: start the script with its "
		  "interpreter, as python3 -m MODULE, or make the virtual environment "
		  "at a path without one" },
		{ SPAWN_NO_LOADER,
		  "it was built for another system: install it for this one" },
		{ SPAWN_DENIED, "head -n 1 shows the interpreter's name: run chmod +x on "
				"it, or start the script with another one" },
		{ SPAWN_NOEXEC, "start it with its interpreter, as sh or python3, or put "
				"it into a directory of another file system" },
		{ SPAWN_FOLDER, "name a program in it" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (strstr(message, rows[i].text))
			return rows[i].remedy;
	return name_remedy(message);
}

/* The first file of that name in PATH, which may be one that does not start. */
static const char *find_file(const char *name, char *buf, size_t size)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return name;
	for (const char *p = path ? path : ""; *p; p += *p == ':') {
		int len = (int)strcspn(p, ":");

		if (snprintf(buf, size, "%.*s/%s", len, len ? p : ".", name) <
			    (int)size &&
		    !access(buf, F_OK))
			return buf;
		p += len;
	}
	return NULL;
}

int spawn_failed(struct error *err, const char *path, int number)
{
	char buf[PATH_MAX];
	const char *file = find_file(path, buf, sizeof(buf));
	const char *fault = file ? spawn_fault(file, number) : NULL;

	if (fault)
		error_set(err, ERR_NOT_FOUND, "%s: a %s: %s", file, fault,
			  spawn_remedy(fault));
	else if (number == ENOENT && file && !access(file, F_OK))
		error_set(err, ERR_NOT_FOUND,
			  "%s: its interpreter (#! line or dynamic loader) is not there",
			  file);
	else
		return error_errno(err, number, "%s", file ? file : path);
	err->code = number;
	return -1;
}
