#include "base/buf.h"
#include "base/cleanup.h"
#include "tests/unit/unit.h"
#include "trainer/traceback.h"

static void collect(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct buf *b = ctx;

	buf_printf(b, "%s|%.*s\n", prefix, (int)len, line);
}

/* "PREFIX|LINE\n"..., a millisecond apart. */
static void add(struct traceback_filter *f, const char *text, int64_t *now)
{
	while (*text) {
		const char *bar = strchr(text, '|'), *end = strchr(text, '\n');
		char prefix[64];

		memcpy(prefix, text, (size_t)(bar - text));
		prefix[bar - text] = 0;
		traceback_line(f, prefix, bar + 1, (size_t)(end - bar - 1), ++*now);
		text = end + 1;
	}
}

static void expect(const char *in, const char *want)
{
	struct buf b = { .max = 65536 };
	struct traceback_filter *f = traceback_new(collect, &b);
	int64_t now = 0;

	add(f, in, &now);
	traceback_flush(f, INT64_MAX);
	assert_string_equal((const char *)b.data, want);
	assert_int_equal(traceback_wake_ms(f), -1);
	traceback_free(f);
	buf_release(&b);
}

#define FIRST(p) p "|Traceback (most recent call last):\n" p "|  File \"a.py\", line 1\n"

TEST(test_the_same_error_of_another_rank_is_one_line)
{
	expect("a|before\n" FIRST("a") "a|ValueError: x\n" FIRST(
		       "b") "b|ValueError: x\nb|z\n",
	       "a|before\n" FIRST("a") "a|ValueError: x\nb|ValueError: x\nb|z\n");
	expect(FIRST("a") "a|ValueError: x\n" FIRST("b") "b|KeyError: 'k'\n",
	       FIRST("a") "a|ValueError: x\n" FIRST("b") "b|KeyError: 'k'\n");
}

TEST(test_a_launchers_traceback_is_one_line)
{
	expect(FIRST("a") "a|torch.distributed.elastic.x.ChildFailedError: \na|====\n",
	       "a|torch.distributed.elastic.x.ChildFailedError: \na|====\n");
}

TEST(test_lines_of_two_ranks_in_turn_and_behind_a_rank)
{
	expect("a|[rank0]: Traceback (most recent call last):\n"
	       "b|[rank1]: Traceback (most recent call last):\n"
	       "a|[rank0]:   File\nb|[rank1]:   File\nb|[rank1]: E: x\na|[rank0]: E: x\n",
	       "b|[rank1]: Traceback (most recent call last):\n"
	       "b|[rank1]:   File\nb|[rank1]: E: x\na|[rank0]: E: x\n");
}

TEST(test_no_line_is_lost_or_waits_forever)
{
	struct buf b = { .max = 1 << 20 };
	struct traceback_filter *f = traceback_new(collect, &b);
	char wide[1001];
	int64_t now = 0;

	memset(wide, ' ', 1000);
	wide[1000] = 0;
	traceback_line(f, "a", "Traceback (most recent call last):", 34, 5);
	assert_int_equal(traceback_wake_ms(f), 5 + TRACEBACK_WAIT_MS);
	traceback_flush(f, 5);
	assert_int_equal(b.len, 0);
	traceback_flush(f, 6);
	assert_string_equal((const char *)b.data,
			    "a|Traceback (most recent call last):\n");
	add(f, FIRST("a"), &now);
	for (int i = 0; i < 100; i++)
		traceback_line(f, "a", wide, 1000, now);
	traceback_flush(f, INT64_MAX);
	assert_true(b.len > 100 * 1002);
	traceback_free(f);
	buf_release(&b);
}

TEST(test_the_first)
{
	cleanup_buf struct buf b = { .max = 65536 };
	struct traceback_filter *f = traceback_new(collect, &b);
	const char *prefix;
	int64_t now = 0;

	assert_string_equal(traceback_first(f, &prefix), "");
	add(f,
	    FIRST("a") "a|RuntimeError: Connection closed by peer\n"
		       "b|[rank1]: Traceback (most recent call last):\n"
		       "b|[rank1]:   File \"b.py\"\nb|[rank1]: ValueError: x\n" FIRST(
			       "c") "c|KeyError: 'y'\n" FIRST("a") "a|torch.distributed.elastic.x.E: \n",
	    &now);
	assert_string_equal(traceback_first(f, &prefix),
			    "      File \"b.py\"\n    ValueError: x\n");
	assert_string_equal(prefix, "b");
	now += TRACEBACK_TOGETHER_MS;
	add(f, FIRST("a") "a|OSError: z\n", &now);
	assert_string_equal(traceback_first(f, &prefix),
			    "      File \"a.py\", line 1\n    OSError: z\n");
	traceback_free(f);
}

/* The line, and what is shown of it; NULL: itself. */
TEST(test_names_of_files)
{
	static const struct {
		const char *line, *want;
	} rows[] = {
		{ "  File \"/tmp/kftrainer-T5CD1v/tb.py\", line 5, in f",
		  "  File \"tb.py\", line 5, in f" },
		{ "[rank1]:   File \"/tmp/kftrainer-0-53291c9e89e37841/kftrainer-T5CD1v/a b.py"
		  "\", line 5",
		  "[rank1]:   File \"a b.py\", line 5" },
		{ "[rank1]:   File \"/tmp/kftrainer-0-53291c9e89e37841/kftrainer-T5CD1v/ab.py"
		  "\", line 5",
		  "[rank1]:   File \"ab.py\", line 5" },
		{ "/dev/shm/kftrainer-T5CD1v/tb.py:12: UserWarning: x/y",
		  "tb.py:12: UserWarning: x/y" },
		{ "  File \"/tmp/kftrainer-T5CD1v/pkg/tb.py\", line 5", NULL },
		{ "  File \"/tmp/kftrainer-T5CD1/tb.py\", line 5", NULL },
		{ "  File \"/usr/lib/python3/x.py\", line 5", NULL },
		{ "I am /tmp/kftrainer-T5CD1v/tb.py", NULL },
		{ "/tmp/kftrainer-T5CD1v/tb.py", NULL },
		{ "/tmp/kftrainer-T5CD1v/", NULL },
		{ "/kftrainer-", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *want = rows[i].want ? rows[i].want : rows[i].line;
		size_t len = strlen(rows[i].line);
		char room[TRACEBACK_NAME_MAX];
		const char *got = traceback_named(rows[i].line, &len, room, sizeof(room));

		assert_int_equal(len, strlen(want));
		assert_memory_equal(got, want, len);
	}
}

RUN_TESTS(NULL, NULL)
