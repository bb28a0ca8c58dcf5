/* Which last words of a program say that it would fail so again. */
#include "supervise/permanent.h"

#include "tests/unit/base/base_test.h"

TEST(test_causes)
{
	static const struct {
		const char *text;
		enum peer_cause cause;
	} rows[] = {
		{ "", CAUSE_UNKNOWN },
		{ "Killed\n", CAUSE_UNKNOWN },
		{ "ModuleNotFoundError: No module named 'x'\n", CAUSE_PERMANENT },
		{ "ModuleNotFoundError: No module named 'x'", CAUSE_PERMANENT },
		{ "Traceback\n  File\nSyntaxError: invalid syntax\n", CAUSE_PERMANENT },
		{ "[rank3]: ImportError: cannot import name\n", CAUSE_PERMANENT },
		{ "E\nImportError: no flash_attn\nRuntimeError: CUDA error\n",
		  CAUSE_UNKNOWN },
		{ "ImportError: x\ntorch.distributed.elastic.multiprocessing.errors."
		  "ChildFailedError: \nroot cause\n",
		  CAUSE_PERMANENT },
		{ "an ImportError: x\n", CAUSE_UNKNOWN },
		{ "MyImportError: x\n", CAUSE_UNKNOWN },
		{ "IndentationError\n", CAUSE_PERMANENT },
		{ "[rank", CAUSE_UNKNOWN },
		{ "torch.OutOfMemoryError: CUDA out of memory. Tried to", CAUSE_MEMORY },
		{ "[rank1]: torch.cuda.OutOfMemoryError: CUDA out of memory\nbye\n",
		  CAUSE_MEMORY },
		{ "python: can't open file '/x/train.py': [Errno 2] No such file or "
		  "directory\nE0101 failed (exitcode: 2)\n"
		  "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n",
		  CAUSE_PERMANENT },
		{ "usage: t.py [-h]\nt.py: error: unrecognized arguments: --epoch 3\n",
		  CAUSE_PERMANENT },
		{ "t.py: error: the following arguments are required: --data\n",
		  CAUSE_PERMANENT },
		{ "t.py: error: unrecognized arguments: x\nRuntimeError: y\n",
		  CAUSE_UNKNOWN },
		{ "MemoryError\n", CAUSE_MEMORY },
		{ "RuntimeError: CUDA error: out of memory\n", CAUSE_MEMORY },
		{ "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of "
		  "memory while trying to allocate",
		  CAUSE_MEMORY },
		{ "MemoryError\nValueError: x\n", CAUSE_UNKNOWN },
		{ "warning: out of memory\n", CAUSE_UNKNOWN },
		{ "[rank]: ImportError: x", CAUSE_PERMANENT },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_int_equal(permanent_cause(rows[i].text, strlen(rows[i].text)),
				 rows[i].cause);
}

TEST(test_kills_of_the_kernel)
{
	assert_int_equal(permanent_oom_kills("low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\n"
					     "oom_group_kill 0\n"),
			 3);
	assert_int_equal(permanent_oom_kills(""), 0);
	assert_int_equal(permanent_oom_kills("low 0\noom_kill "), 0);
}

RUN_TESTS(NULL, NULL)
