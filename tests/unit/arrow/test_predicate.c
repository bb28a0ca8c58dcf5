/* The work of a filter: instructions, counted by single steps of another process. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arrow/predicate.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "tests/unit/unit.h"

enum { ROWS = 2, MAX_STEPS = 100000 };

static const struct field column = { .name = (char *)(uintptr_t) "i",
				     .kind = ARROW_INT64,
				     .width = 8 };

/* [["i", "in", [3, 6, 9, ...]]], of n values. */
static struct predicate *in_list(int n)
{
	cleanup_buf struct buf text = { .max = 1 << 20 };
	struct predicate *p;
	struct error err = { 0 };

	buf_adds(&text, "[[\"i\", \"in\", [3");
	for (int i = 2; i <= n; i++)
		buf_printf(&text, ", %d", 3 * i);
	buf_adds(&text, "]]]");
	assert_int_equal(predicate_parse(&p, text.data, text.len, &column, 1, &err), 0);
	return p;
}

static long filter_steps(int n)
{
	int64_t values[ROWS];
	const struct array a = { .field = &column,
				 .n = ROWS,
				 .values = { .data = (uint8_t *)values } };
	struct predicate *p = in_list(n);
	uint8_t keep[1];
	long steps = 0;
	int status;
	pid_t child;

	for (int i = 0; i < ROWS; i++)
		values[i] = n + i;
	memset(keep, 0xff, sizeof(keep));
	child = fork();
	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(1);
		raise(SIGSTOP);
		predicate_rows(p, 0, &a, keep);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	while (WIFSTOPPED(status) && ++steps < MAX_STEPS) {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, 0, 0), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
	}
	kill(child, SIGKILL);
	if (WIFSTOPPED(status))
		waitpid(child, &status, 0);
	predicate_free(p);
	return steps;
}

/* A request of 400 KB must not cost a comparison for each value and row. */
TEST(long_in_lists_are_not_compared_value_by_value)
{
	long few = filter_steps(16), many = filter_steps(16 * 1024);

	if (!few) {
		print_message("# skip: no ptrace(2)\n");
		skip();
	}
	print_message("%d rows, 16 values: %ld steps; 16,384 values: %ld\n", ROWS, few,
		      many);
	assert_true(many < 6 * few);
}

RUN_TESTS(NULL, NULL)
