#include "base/buf.h"
#include "base/cleanup.h"
#include "logtext/firsterror.h"
#include "logtext/traceback.h"
#include "tests/unit/unit.h"

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

/* What PyTorch 1.13 to 2.15, gloo and NCCL write when another rank is gone. */
TEST(test_a_lost_peer_is_one_line)
{
	static const char *const errors[] = {
		"RuntimeError: [/__w/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:561] "
		"Connection closed by peer [127.0.0.1]:26832",
		"RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection reset by peer",
		"RuntimeError: [enforce fail at gloo/transport/tcp/pair.cc:64] Broken pipe",
		"RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting "
		"1800000ms for recv operation to complete",
		"RuntimeError: Application timeout caused pair closure",
		"torch.distributed.DistBackendError: NCCL error in: "
		"../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, remote process "
		"exited or there was a network error, NCCL version 2.20.5",
		"torch.distributed.DistBackendError: NCCL communicator was aborted on rank 1.",
		"torch.distributed.DistNetworkError: failed to recv, got 0 bytes",
		"torch.distributed.DistNetworkError: Broken pipe",
		"torch.distributed.DistStoreError: Timed out after 61 seconds waiting for "
		"clients. 1/2 clients joined.",
		"torch.distributed.DistStoreError: wait timeout after 10000ms, keys: /a",
		"RuntimeError: Timed out initializing process group in store based barrier on "
		"rank: 0, for key: store_based_barrier_key:1",
		"RuntimeError: Socket Timeout",
		"RuntimeError: Rank 1 successfully reached monitoredBarrier, but received "
		"errors while waiting for send/recv from rank 0",
		"\033[1;35mConnectionResetError\033[0m: \033[35m[Errno 104] Connection reset "
		"by peer\033[0m",
	};

	for (size_t i = 0; i < N_ELEMENTS(errors); i++) {
		cleanup_arena struct arena a = { 0 };

		expect(arena_printf(&a, FIRST("a") "a|%s\na|after\n", errors[i]),
		       arena_printf(&a, "a|%s" TRACEBACK_FOLDED "\na|after\n",
				    errors[i]));
	}
}

TEST(test_what_follows_a_lost_peer)
{
	expect(FIRST("a") "a|torch.distributed.DistNetworkError: failed to recv, got 0 bytes\n"
			  "a|Exception raised from recvBytes at Utils.hpp:675 (most recent call "
			  "first):\na|frame #0: c10::Error\na|frame #1: x\na|\na|mine\na|\n",
	       "a|torch.distributed.DistNetworkError: failed to recv, got 0 "
	       "bytes" TRACEBACK_FOLDED "\na|mine\na|\n");
	/* raised because of it, and something else later */
	expect(FIRST("a") "a|OSError: Broken pipe\na|\n"
			  "a|The above exception was the direct cause of the following "
			  "exception:\na|\n" FIRST("a") "a|my.Lost: step 3\n" FIRST(
				  "a") "a|E: x\n",
	       "a|OSError: Broken pipe" TRACEBACK_FOLDED
	       "\na|my.Lost: step 3" TRACEBACK_FOLDED "\n" FIRST("a") "a|E: x\n");
}

/* Two processes of one pod, whose lines alternate, and a line of a third. */
TEST(test_ranks_of_one_pod)
{
	expect("a|[rank0]: Traceback (most recent call last):\n"
	       "a|[rank1]: Traceback (most recent call last):\n"
	       "a|[rank0]:   File\na|step 3\na|[rank1]:   File\n"
	       "a|[rank0]: RuntimeError: Connection reset by peer\na|[rank1]: E: x\n",
	       "a|step 3\na|[rank0]: RuntimeError: Connection reset by peer" TRACEBACK_FOLDED
	       "\na|[rank1]: Traceback (most recent call last):\n"
	       "a|[rank1]:   File\na|[rank1]: E: x\n");
}

static void is_first(const struct traceback_filter *f, const char *prefix,
		     const char *line, const char *traceback)
{
	const char *have;
	const struct first_error *e = traceback_first(f, &have);

	assert_non_null(e);
	assert_string_equal(have, prefix);
	assert_string_equal(first_error_text(&e->line), line);
	assert_string_equal(first_error_text(&e->traceback), traceback);
}

TEST(test_the_first)
{
	cleanup_buf struct buf b = { .max = 65536 };
	struct traceback_filter *f = traceback_new(collect, &b);
	const char *prefix;
	int64_t now = 0;

	assert_null(traceback_first(f, &prefix));
	add(f, FIRST("a") "a|RuntimeError: Connection closed by peer\n", &now);
	assert_true(traceback_any_folded(f));
	is_first(
		f, "a", "RuntimeError: Connection closed by peer",
		"      File \"a.py\", line 1\n    RuntimeError: Connection closed by peer\n");
	add(f,
	    "b|[rank1]: Traceback (most recent call last):\n"
	    "b|[rank1]:   File \"/tmp/kftrainer-T5CD1v/b.py\"\nb|[rank1]: AssertionError\n" FIRST(
		    "c") "c|KeyError: 'y'\n" FIRST("a") "a|torch.distributed.elastic.x.E: \n",
	    &now);
	is_first(f, "b", "AssertionError", "      File \"b.py\"\n    AssertionError\n");
	now += FIRST_ERROR_TOGETHER_MS;
	add(f, FIRST("a") "a|OSError: Broken pipe\n", &now);
	is_first(f, "b", "AssertionError", "      File \"b.py\"\n    AssertionError\n");
	add(f, FIRST("a") "a|OSError: z\n", &now);
	is_first(f, "a", "OSError: z", "      File \"a.py\", line 1\n    OSError: z\n");
	traceback_free(f);
}

/* Errors whose text is on further lines, or is the traceback of another process. */
TEST(test_text_of_several_lines)
{
	static const struct {
		const char *in, *line, *traceback;
	} rows[] = {
		{ FIRST("a") "a|RuntimeError: \na|        The cat is out\na|\n"
			     "a|        of the bag.\na|epoch 2\na|   - 3\n",
		  "RuntimeError: The cat is out",
		  "      File \"a.py\", line 1\n    RuntimeError: \n"
		  "            The cat is out\n            of the bag.\n" },
		{ FIRST("a") "a|x.E: [1] result.cc:78: \na|- [c:1]: one\na|- [c:2]: two\n"
			     "a|------------\n",
		  "x.E: [1] result.cc:78: - [c:1]: one",
		  "      File \"a.py\", line 1\n    x.E: [1] result.cc:78: \n"
		  "    - [c:1]: one\n    - [c:2]: two\n" },
		{ FIRST("a") "a|ValueError: in a worker.\na|Original Traceback (most recent call "
			     "last):\na|  File \"b.py\"\na|ValueError: bad\na|\n",
		  "ValueError: bad",
		  "      File \"a.py\", line 1\n    ValueError: in a worker.\n"
		  "    Original Traceback (most recent call last):\n      File \"b.py\"\n"
		  "    ValueError: bad\n" },
		{ FIRST("a") "a|c.CheckpointException: ranks:dict_keys([0])\n"
			     "a|Traceback (most recent call last): (RANK 0)\n"
			     "a|  File \"b.py\"\na|KeyError: 'k'\n",
		  "KeyError: 'k'",
		  "      File \"a.py\", line 1\n"
		  "    c.CheckpointException: ranks:dict_keys([0])\n"
		  "    Traceback (most recent call last): (RANK 0)\n      File \"b.py\"\n"
		  "    KeyError: 'k'\n" },
		{ FIRST("a") "a|s.ProcessRaisedException: \na|\n"
			     "a|-- Process 0 terminated with the following error:\n" FIRST(
				     "a") "a|KeyError: 'k'\n",
		  "KeyError: 'k'",
		  "      File \"a.py\", line 1\n    s.ProcessRaisedException: \n"
		  "    -- Process 0 terminated with the following error:\n"
		  "    Traceback (most recent call last):\n      File \"a.py\", line 1\n"
		  "    KeyError: 'k'\n" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_buf struct buf b = { .max = 65536 };
		struct traceback_filter *f = traceback_new(collect, &b);
		int64_t now = 0;

		add(f, rows[i].in, &now);
		is_first(f, "a", rows[i].line, rows[i].traceback);
		traceback_free(f);
	}
}

/* An error in the text of another one that blames a peer blames it, too. */
TEST(test_peer_of_a_process)
{
	cleanup_buf struct buf b = { .max = 65536 };
	struct traceback_filter *f = traceback_new(collect, &b);
	const char *prefix;
	int64_t now = 0;

	add(f,
	    FIRST("a") "a|s.ProcessRaisedException: \na|\n"
		       "a|-- Process 0 terminated with the following error:\n" FIRST(
			       "a") "a|OSError: Broken pipe\n",
	    &now);
	assert_true(traceback_first(f, &prefix)->peer);
	traceback_free(f);
}

/* More processes than are told apart: nothing is lost, and memory is limited. */
TEST(test_many_processes)
{
	cleanup_buf struct buf b = { .max = 1 << 20 };
	struct traceback_filter *f = traceback_new(collect, &b);
	char prefix[16];

	for (int i = 0; i <= TRACEBACK_STREAMS; i++) {
		snprintf(prefix, sizeof(prefix), "%d", i);
		traceback_line(f, prefix, "Traceback (most recent call last):", 34, 5);
	}
	assert_string_equal((const char *)b.data,
			    "4096|Traceback (most recent call last):\n");
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
