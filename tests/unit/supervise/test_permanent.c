/* Which last words of a program say that it would fail so again. */
#include "supervise/permanent.h"

#include "tests/unit/base/base_test.h"

TEST(test_causes)
{
	static const struct {
		const char *text;
		bool permanent;
	} rows[] = {
		{ "", false },
		{ "Killed\n", false },
		{ "ModuleNotFoundError: No module named 'x'\n", true },
		{ "ModuleNotFoundError: No module named 'x'", true },
		{ "Traceback\n  File\nSyntaxError: invalid syntax\n", true },
		{ "[rank3]: ImportError: cannot import name\n", true },
		{ "E\nImportError: no flash_attn\nRuntimeError: CUDA error\n", false },
		{ "ImportError: x\ntorch.distributed.elastic.multiprocessing.errors."
		  "ChildFailedError: \nroot cause\n",
		  true },
		{ "an ImportError: x\n", false },
		{ "MyImportError: x\n", false },
		{ "IndentationError\n", true },
		{ "[rank", false },
		{ "[rank]: ImportError: x", true },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_int_equal(permanent_cause(rows[i].text, strlen(rows[i].text)),
				 rows[i].permanent);
}

RUN_TESTS(NULL, NULL)
