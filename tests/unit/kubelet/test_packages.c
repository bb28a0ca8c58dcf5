/* Which commands install packages (kubelet/packages.h); tests/local/test_packages.sh runs some. */
#include "kubelet/packages.h"
#include "tests/unit/unit.h"

TEST(test_installers)
{
	static const struct {
		bool want;
		const char *argv[5];
	} rows[] = {
		{ true, { "pip", "install", "x" } },
		{ true, { "/venv/bin/pip3.11", "install", "-q", "x" } },
		{ true,
		  { "sh", "-c", "set -e; python -m pip install x && python train.py" } },
		{ true, { "bash", "-c", "uv pip install x\ntorchrun train.py" } },
		{ true,
		  { "bash", "-c",
		    "PACKAGES=(x)\npython -m pip install \"${PACKAGES[@]}\"" } },
		{ true, { "conda", "install", "-y", "x" } },
		{ false, { "python", "train.py", "--pipeline", "x", "--install" } },
		{ false, { "python", "train.py", "--pip", "install" } },
		{ false, { "python", "/opt/pip-tools/installer.py" } },
		{ false, { "python", "-c", "print('installed by pip')" } },
		{ false, { "apt-get", "install", "x" } },
		{ false, { "torchrun", "train.py" } },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct podenv env = { .argv = rows[i].argv };

		if (packages_installed(&env) != rows[i].want)
			fail_msg("row %zu: %s", i, rows[i].argv[0]);
	}
}

RUN_TESTS(NULL, NULL)
