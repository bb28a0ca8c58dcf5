/* torchfix.c - detect and correct torchrun of Debian's PyTorch (kubelet/torchfix.h). */
#include "kubelet/torchfix.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"

enum { FIRST_LINE = 256, VERSION_FILE = 4096, FAULTY_SINCE_MINOR = 11 };

/* Find a program in PATH; NULL: not found. */
static const char *program(struct arena *a, const struct podenv *env, const char *name)
{
	const char *path = podenv_value(env, "PATH");
	char **dirs;

	if (strchr(name, '/'))
		return access(name, X_OK) ? NULL : name;
	for (dirs = str_split(a, path ? path : "/usr/bin:/bin", ':', NULL); *dirs;
	     dirs++) {
		const char *full = path_join(a, *dirs, name);

		if (**dirs == '/' && !access(full, X_OK))
			return full;
	}
	return NULL;
}

/* The start of a file, up to `size`; "" when it cannot be read. */
static const char *start_of(struct arena *a, const char *path, size_t size)
{
	char *text = arena_alloc(a, size + 1);
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size);

	text[n > 0 ? n : 0] = 0;
	return text;
}

/*
 * The interpreter in the #! line of a script, or NULL: "#!/usr/bin/env python3" is
 * python3.
 */
static const char *interpreter(struct arena *a, const struct podenv *env,
			       const char *script)
{
	const char *line = str_after(start_of(a, script, FIRST_LINE), "#!");
	const char *word;

	if (!line)
		return NULL;
	line += strspn(line, " \t");
	word = str_slice(a, line, strcspn(line, " \t\r\n"));
	if (!str_eq(path_base(word), "env"))
		return word;
	line += strlen(word);
	line += strspn(line, " \t");
	return program(a, env, str_slice(a, line, strcspn(line, " \t\r\n")));
}

/* "torchrun", or its path in the command; NULL: not in the command. */
static const char *torchrun_word(const struct podenv *env)
{
	const char *ret = NULL;

	for (size_t i = 0; env->argv[i]; i++) {
		if (str_eq(path_base(env->argv[i]), "torchrun"))
			return env->argv[i];
		if (strstr(env->argv[i], "torchrun") ||
		    strstr(env->argv[i], "torch.distributed"))
			ret = "torchrun";
	}
	return ret;
}

/* 11 for python3.11; -1 if it is not Python 3. */
static int64_t minor_of(const char *python)
{
	char real[PATH_MAX];
	const char *minor;
	int64_t ret;

	if (!realpath(python, real))
		return -1;
	minor = str_after(path_base(real), "python3.");
	return minor && !str_int(&ret, minor, 0, 1000, IGNORED) ? ret : -1;
}

/* PyTorch 1.13 fails on Python 3.11; later ones of Debian are built without libuv. */
static bool is_faulty(const char *version, int64_t minor)
{
	if (strstr(version, "__version__ = '1.13"))
		return minor >= FAULTY_SINCE_MINOR;
	return strstr(version, "__version__ = '2.") && strstr(version, "+debian'");
}

static bool has_faulty_torch(struct arena *a, const char *python, int64_t minor)
{
	const char *prefix = path_dir(a, path_dir(a, python));
	const char *const places[] = {
		arena_printf(a, "%s/lib/python3.%d/site-packages", prefix, (int)minor),
		arena_printf(a, "%s/local/lib/python3.%d/dist-packages", prefix,
			     (int)minor),
		arena_printf(a, "%s/lib/python3/dist-packages", prefix),
	};

	for (size_t i = 0; i < N_ELEMENTS(places); i++) {
		const char *file = path_join(a, places[i], "torch/version.py");

		if (file_exists(file))
			return is_faulty(start_of(a, file, VERSION_FILE), minor);
	}
	return false;
}

/* Does the command set PATH (not PYTHONPATH), or activate an environment? */
static bool changes_path(const char *word)
{
	const char *at = word;

	for (; (at = strstr(at, "PATH=")) != NULL; at++)
		if (at == word || (!isalnum((unsigned char)at[-1]) && at[-1] != '_'))
			return true;
	return strstr(word, "activate") != NULL;
}

bool torchfix_named(const struct podenv *env)
{
	for (size_t i = 0; env->argv[i]; i++)
		if (changes_path(env->argv[i]))
			return false; /* another torchrun may run */
	return torchrun_word(env) != NULL;
}

bool torchfix_needed(const struct podenv *env)
{
	cleanup_arena struct arena a = { 0 };
	const char *torchrun = torchrun_word(env), *python;
	int64_t minor;

	if (!torchrun && !podenv_value(env, "PET_NNODES"))
		return false;
	torchrun = program(&a, env, torchrun ? torchrun : "torchrun");
	python = torchrun ? interpreter(&a, env, torchrun) : program(&a, env, "python3");
	minor = python ? minor_of(python) : -1;
	return minor >= 0 && has_faulty_torch(&a, python, minor);
}

const char *torchfix_foreign(struct arena *arena, const struct podenv *env)
{
	const char *active = podenv_value(env, "VIRTUAL_ENV"), *torchrun, *python;

	active = active && *active ? active : podenv_value(env, "CONDA_PREFIX");
	torchrun = active && *active && torchfix_named(env)
			   ? program(arena, env, torchrun_word(env))
			   : NULL;
	python = torchrun ? interpreter(arena, env, torchrun) : NULL;
	if (!python || path_below(torchrun, active) || path_below(python, active))
		return NULL;
	return arena_printf(
		arena,
		"the environment %s has no torchrun: %s starts the script with "
		"%s; install torch there, or run python3 -m "
		"torch.distributed.run",
		active, torchrun, python);
}

int torchfix_apply(struct arena *arena, const char *dir, const char *text,
		   struct podenv *env, struct error *err)
{
	const char *file = path_join(arena, dir, "sitecustomize.py");

	if (!file_exists(file) &&
	    (dir_make(dir, 0700, err) ||
	     file_write_scratch(file, text, strlen(text), 0600, err)))
		return -1;
	podenv_prepend(arena, env, "PYTHONPATH", dir);
	return 0;
}
