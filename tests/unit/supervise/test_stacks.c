/* The stacks of Python's faulthandler, and those of many processes. */
#include "supervise/stacks.h"

#include "base/cleanup.h"
#include "supervise/message.h"
#include "tests/unit/base/base_test.h"

TEST(test_what_faulthandler_writes)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" },
		{ "Aborted\n", "" },
		{ "Fatal Python error: Aborted\n\nThread 0x1 (most recent call first):\n"
		  "  File \"/a/x.py\", line 8 in loader\n\n"
		  "Current thread 0x2 (most recent call first):\n"
		  "  File \"/usr/lib/threading.py\", line 320 in wait\n"
		  "  File \"t.py\", line 15 in <module>\n\nExtension modules: numpy\n",
		  "wait (threading.py:320)\n<module> (t.py:15)\n" },
		/* 3.13, 3.14; "in" within a name; cut off */
		{ "Current thread 0x2 [python] (most recent call first):\n"
		  "  File \"/a in b/c.py\", line 1 in C.f in g",
		  "C.f in g (c.py:1)\n" },
		{ "Current thread 0x2 (most recent call first):\n  <no Python frame>\n",
		  "" },
		{ "Current thread 0x2 (most recent call first):\n  File \"a.py\", line",
		  "" },
		{ "Current thread 0x2 (most recent call first):\n"
		  "  File \"\x1b[2J.py\", line 1 in \x07\n",
		  "? (?[2J.py:1)\n" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_buf struct buf out = { .max = STACK_MAX };

		stack_read(&out, rows[i].text, strlen(rows[i].text));
		assert_string_equal(out.len ? (char *)out.data : "", rows[i].want);
	}
}

static void add(struct stacks *s, uint32_t rank, uint32_t who, const char *text)
{
	cleanup_buf struct buf b = { .max = STACK_MAX };

	buf_adds(&b, text);
	stacks_add(s, rank, who, &b);
}

static void say(void *ctx, const char *line)
{
	buf_printf(ctx, "%s\n", line);
}

TEST(test_the_odd_one_is_first)
{
	cleanup_buf struct buf out = { .max = 100000 };
	struct stacks s = { 0 };

	for (uint32_t i = 12; i-- > 0;) /* they come in any order */
		add(&s, i, i == 3 ? 27 : NO_RANK,
		    i == 3 ? "load (d.py:1)\n" : "f (a.py:1)\ng (a.py:2)\n");
	add(&s, 12, NO_RANK, "");
	for (int i = 0; i < 20; i++) /* a data loader's */
		add(&s, 5, 5, "worker (w.py:1)\n");
	stacks_print(&s, say, &out);
	assert_string_equal(
		(char *)out.data,
		"the stack of rank 3 (RANK=27) (1 of 32 processes):\n"
		"  load (d.py:1)\n"
		"the stack of rank 0, rank 1, rank 2, rank 4, rank 5, rank 6, "
		"rank 7, rank 8 and 3 more (11 of 32 processes):\n"
		"  f (a.py:1)\n  g (a.py:2)\n"
		"the stack of rank 5 (20 of 32 processes):\n"
		"  worker (w.py:1)\n");
	stacks_release(&s);
	buf_clear(&out);
	for (uint32_t i = 0; i < 100; i++) {
		char text[32];

		snprintf(text, sizeof(text), "f (a.py:%u)\n", i);
		add(&s, i, i, text);
	}
	stacks_print(&s, say, &out);
	assert_non_null(strstr((char *)out.data, "68 processes have other stacks\n"));
	stacks_release(&s);
}

TEST(test_a_stack_that_is_too_long)
{
	cleanup_buf struct buf written = { .max = 100000 };
	cleanup_buf struct buf stack = { .max = STACK_MAX };

	buf_adds(&written, "Current thread 0x2 (most recent call first):\n");
	for (int i = 0; i < STACK_FRAMES; i++)
		buf_printf(&written, "  File \"/a/%0130d.py\", line %d in f\n", i, i);
	stack_read(&stack, (char *)written.data, written.len);
	assert_true(stack.len > STACK_MAX - 300);
	assert_int_equal(stack.data[stack.len - 1], '\n'); /* whole frames */
}

/* As an older supervisor sends it. */
TEST(test_a_stack_that_ends_within_a_frame)
{
	cleanup_buf struct buf out = { .max = 100000 };
	struct stacks s = { 0 };

	add(&s, 2, 2, "f (a.py:1)\ng (a.py");
	stacks_print(&s, say, &out);
	assert_string_equal((char *)out.data, "the stack of rank 2 (1 of 1 processes):\n"
					      "  f (a.py:1)\n  g (a.py\n");
	stacks_release(&s);
}

RUN_TESTS(NULL, NULL)
