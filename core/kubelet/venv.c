/* venv.c - check and enter a Python environment (kubelet/venv.h). */
#include "kubelet/venv.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"

static bool has(const char *dir, const char *name)
{
	cleanup_arena struct arena arena = { 0 };

	return file_exists(path_join(&arena, dir, name));
}

static bool is_environment(const char *dir)
{
	return has(dir, "pyvenv.cfg") || has(dir, "conda-meta");
}

int venv_check(const char *dir, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *below = path_join(&arena, dir, ".venv");
	struct stat st;

	if (*dir != '/')
		return error_set(err, ERR_INVALID, "%s: not an absolute path", dir);
	if (stat(dir, &st) || !S_ISDIR(st.st_mode))
		return error_set(err, ERR_INVALID, "%s: no such directory", dir);
	if (!is_environment(dir) && is_environment(below))
		return error_set(err, ERR_INVALID,
				 "%s: not a Python environment; did you mean %s?", dir,
				 below);
	if (!is_environment(dir))
		return error_set(err, ERR_INVALID,
				 "%s: not a Python environment: it has no pyvenv.cfg or "
				 "conda-meta; 'python3 -m venv NAME' makes one",
				 dir);
	if (access(path_join(&arena, dir, "bin/python"), X_OK))
		return error_set(err, ERR_INVALID,
				 "%s: bin/python is missing, or its interpreter is gone; "
				 "create the environment again",
				 dir);
	return 0;
}

const char *const *venv_environ(struct arena *arena, const char *const *env,
				const char *dir)
{
	static const char *const replaced[] = { "PATH=",         "VIRTUAL_ENV=",
						"CONDA_PREFIX=", "VIRTUAL_ENV_PROMPT=",
						"PYTHONHOME=",   "CONDA_DEFAULT_ENV=" };
	const char *path = "/usr/local/bin:/usr/bin:/bin", **ret;
	size_t n = 0;

	while (env[n])
		n++;
	ret = arena_alloc(arena, (n + 3) * sizeof(*ret));
	n = 0;
	for (; *env; env++) {
		bool keep = true;

		for (size_t i = 0; i < N_ELEMENTS(replaced); i++)
			keep &= !str_starts(*env, replaced[i]);
		if (keep)
			ret[n++] = *env;
		else if (str_starts(*env, "PATH="))
			path = str_after(*env, "PATH=");
	}
	ret[n++] = arena_printf(arena, "PATH=%s/bin:%s", dir, path);
	ret[n++] = arena_printf(arena, "%s=%s",
				has(dir, "pyvenv.cfg") ? "VIRTUAL_ENV" : "CONDA_PREFIX",
				dir);
	return ret;
}
