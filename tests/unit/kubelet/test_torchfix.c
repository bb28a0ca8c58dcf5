/* Which installations of PyTorch have a torchrun that needs a correction: kubelet/torchfix.h. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/file.h"
#include "kubelet/torchfix.h"

static void put(const char *dir, const char *name, const char *text)
{
	cleanup_arena struct arena a = { 0 };
	struct error err;

	assert_int_equal(
		file_write(path_join(&a, dir, name), text, strlen(text), 0700, &err), 0);
}

/* Of a prefix with that Python and that torch/version.py, at one of the places. */
static bool needed(const char *python, const char *place, const char *version)
{
	cleanup_arena struct arena a = { 0 };
	char dir[] = "/tmp/torchfix-XXXXXX";
	const char *envp[] = { NULL, NULL }, *argv[] = { "torchrun", "train.py", NULL };
	struct podenv env = { .envp = envp, .argv = argv };
	struct error err;
	bool ret;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(
		dir_make(arena_printf(&a, "%s/%s/torch", dir, place), 0700, &err), 0);
	assert_int_equal(dir_make(arena_printf(&a, "%s/bin", dir), 0700, &err), 0);
	put(dir, arena_printf(&a, "bin/%s", python), "");
	put(dir, "bin/torchrun", arena_printf(&a, "#!%s/bin/%s\n", dir, python));
	put(dir, arena_printf(&a, "%s/torch/version.py", place),
	    arena_printf(&a, "__all__ = ['__version__', 'cuda']\n__version__ = '%s'\n",
			 version));
	envp[0] = arena_printf(&a, "PATH=%s/bin", dir);
	ret = torchfix_needed(&env);
	assert_int_equal(dir_remove(dir, &err), 0);
	return ret;
}

TEST(test_versions)
{
	static const char debian[] = "lib/python3/dist-packages";
	static const struct {
		const char *python, *place, *version;
		bool need;
	} rows[] = {
		{ "python3.11", debian, "1.13.0a0+gitunknown", true },
		{ "python3.10", debian, "1.13.0", false },
		{ "python3.11", "lib/python3.11/site-packages", "1.13.1+cpu", true },
		{ "python3.13", debian, "2.6.0+debian", true },
		{ "python3.13", "lib/python3.13/site-packages", "2.6.0+cpu", false },
		{ "python3.11", "lib/python3.11/site-packages", "2.15.0+cu132", false },
		{ "python3.11", "lib/python3.12/site-packages", "1.13.1", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (needed(rows[i].python, rows[i].place, rows[i].version) !=
		    rows[i].need)
			fail_msg("%s %s", rows[i].python, rows[i].version);
}

/* A command that sets PATH first may run another torchrun; PYTHONPATH decides nothing. */
TEST(test_named)
{
	static const struct {
		bool want;
		const char *argv[4];
	} rows[] = {
		{ true, { "torchrun", "train.py" } },
		{ true, { "sh", "-c", "PYTHONPATH=/x exec torchrun train.py" } },
		{ false, { "sh", "-c", "PATH=/opt/bin:$PATH torchrun train.py" } },
		{ false, { "sh", "-c", ". .venv/bin/activate; torchrun train.py" } },
		{ false, { "python3", "train.py" } },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct podenv env = { .argv = rows[i].argv };

		if (torchfix_named(&env) != rows[i].want)
			fail_msg("row %zu", i);
	}
}

/* An environment is active, and torchrun is that of another Python. */
TEST(test_stranger)
{
	static const struct {
		const char *variable, *active, *python, *command;
		bool want;
	} rows[] = {
		/* below the directory of the test */
		{ "VIRTUAL_ENV", "/env", "/bin/python3", "torchrun", true },
		{ "CONDA_PREFIX", "/env", "/bin/python3", "torchrun", true },
		{ "VIRTUAL_ENV", "", "/bin/python3", "torchrun", false },
		{ "VIRTUAL_ENV", "/env", "/env/bin/python3", "torchrun", false },
		{ "VIRTUAL_ENV", "/env", "/bin/python3", "python3", false },
		{ "OTHER", "/env", "/bin/python3", "torchrun", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		char dir[] = "/tmp/torchfix-XXXXXX";
		const char *envp[] = { NULL, NULL, NULL };
		const char *argv[] = { rows[i].command, "train.py", NULL };
		struct podenv env = { .envp = envp, .argv = argv };
		struct error err;

		assert_non_null(mkdtemp(dir));
		assert_int_equal(dir_make(arena_printf(&a, "%s/bin", dir), 0700, &err),
				 0);
		put(dir, "bin/torchrun",
		    arena_printf(&a, "#!%s%s\n", dir, rows[i].python));
		envp[0] = arena_printf(&a, "PATH=%s/bin", dir);
		envp[1] = arena_printf(&a, "%s=%s%s", rows[i].variable, dir,
				       rows[i].active);
		if (!torchfix_foreign(&a, &env) == rows[i].want)
			fail_msg("row %zu", i);
		assert_int_equal(dir_remove(dir, &err), 0);
	}
}

RUN_TESTS(NULL, NULL)
