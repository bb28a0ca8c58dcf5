/*
 * Lines as PyTorch 1.13, 2.1, 2.4 and 2.15 write them, and as users do: the former are folded.
 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "logtext/lognoise.h"
#include "tests/unit/unit.h"

static void collect(void *ctx, const char *prefix, const char *line, size_t len)
{
	buf_printf(ctx, "%s|%.*s\n", prefix, (int)len, line);
}

static void feed(struct lognoise *f, const char *prefix, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		lognoise_line(f, prefix, text, len, 1);
		text += len + 1;
	}
}

static void folds(const char *text, const char *want)
{
	cleanup_buf struct buf got = { .max = 1 << 16 };
	struct lognoise *f = lognoise_new(collect, &got, "j");

	buf_adds(&got, "");
	feed(f, "a", text);
	lognoise_flush(f, INT64_MAX);
	assert_int_equal(lognoise_wake_ms(f), -1);
	lognoise_free(f);
	assert_string_equal((char *)got.data, want);
}

#define FOLDED(n) "a|PyTorch: " #n " lines folded, see 'kftrainer logs --raw j'\n"
#define STARS     "*****************************************"
#define OMP                                                                         \
	"Setting OMP_NUM_THREADS environment variable for each process to be 1 in " \
	"default, to avoid your system being overloaded, please further tune the "  \
	"variable for optimal performance in your application as needed. "
#define W24 "W1016 20:57:34.975000 140080596928320 torch/distributed/run.py:779] "
#define W25 "W0325 20:57:27.620000 2606 site-packages/torch/distributed/run.py:793] "
#define W21 "[2024-02-12 16:37:29,165] torch.distributed.run: [WARNING] "
#define BOX                                                                         \
	"============================================================\n"            \
	"fail.py FAILED\n"                                                          \
	"------------------------------------------------------------\n"            \
	"Failures:\n[1]:\n"                                                         \
	"  time      : 2026-11-26_16:12:47\n"                                       \
	"  host      : f2-node-0-0.f2.default.svc.cluster.local\n"                  \
	"  rank      : 0 (local_rank: 0)\n"                                         \
	"  exitcode  : -15 (pid: 6)  (SIGTERM)\n"                                   \
	"  error_file: <N/A>\n"                                                     \
	"  traceback : Signal 15 (SIGTERM) received by PID 6\n"                     \
	"------------------------------------------------------------\n"            \
	"Root Cause (first observed failure):\n[0]:\n"                              \
	"  rank      : 1 (local_rank: 1)\n"                                         \
	"  error_file: /tmp/torchelastic_x/error.json\n"                            \
	"  traceback : Traceback (most recent call last):\n"                        \
	"    File \"fail.py\", line 6, in main\n      raise ValueError(\"boom\")\n" \
	"  ValueError: boom\n  \n"                                                  \
	"============================================================\n"
#define CHILD "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"

TEST(banners)
{
	folds(W24 "\n" W24 STARS "\n" W24 OMP "\n" W24 STARS "\nmine\n",
	      FOLDED(4) "a|mine\n");
	folds(W25 "\n" W25 STARS "\n" W25 OMP "\n" W25 STARS "\n", FOLDED(4));
	folds(W21 "\n" W21 STARS "\n" W21 OMP "\n" W21 STARS "\n", FOLDED(4));
	folds("WARNING:torch.distributed.run:\n" STARS "\n" OMP "\n" STARS
	      "\nmine\n" STARS "\n",
	      FOLDED(4) "a|mine\na|" STARS "\n");
}

TEST(failure_boxes_are_folded)
{
	folds(CHILD BOX "after\n", FOLDED(23) "a|after\n");
	folds(CHILD "=====================================================\n"
		    "test.py FAILED\n"
		    "-----------------------------------------------------\n"
		    "Failures:\n  <NO_OTHER_FAILURES>\n"
		    "-----------------------------------------------------\n"
		    "Root Cause (first observed failure):\n[0]:\n"
		    "  exitcode  : -9 (pid: 2630)\n"
		    "=====================================================\n",
	      FOLDED(11));
	folds("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \nmine\n",
	      "a|PyTorch: 1 line folded, see 'kftrainer logs --raw j'\na|mine\n");
	/* lines of another process within it are shown */
	folds(CHILD "============\nx FAILED\nmine\nFailures:\n=============\n",
	      "a|PyTorch: 3 lines folded, see 'kftrainer logs --raw j'\na|mine\n" FOLDED(
		      2));
}

TEST(messages_of_a_stop_are_folded)
{
	folds("WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 7 closing "
	      "signal SIGTERM\n"
	      "W1126 16:12:49.289000 2 torch/distributed/elastic/multiprocessing/api.py:1028] "
	      "Sending process 5 closing signal SIGTERM\n"
	      "W1126 16:12:49.288000 2 torch/distributed/elastic/agent/server/api.py:752] "
	      "Received 15 death signal, shutting down workers\n"
	      "torch.distributed.elastic.multiprocessing.api.SignalException: Process 2 got "
	      "signal: 15\n",
	      FOLDED(4));
}

/* pytorch#69520: the job has completed. */
TEST(exit_barrier_errors_are_folded)
{
	folds("ERROR:torch.distributed.elastic.agent.server.api:Error waiting on exit barrier. "
	      "Elapsed: 0.00257 seconds\n"
	      "Traceback (most recent call last):\n"
	      "  File \"torch/distributed/elastic/agent/server/api.py\", line 906, in _exit\n"
	      "    store_util.barrier(\n"
	      "RuntimeError: Connection reset by peer\nmine\n",
	      FOLDED(5) "a|mine\n");
	folds("E1126 16:12:47.648000 2 torch/distributed/elastic/agent/server/api.py:1002] Error "
	      "waiting on exit barrier. Elapsed: 0.1 seconds\n"
	      "torch.distributed.DistNetworkError: failed to recv, got 0 bytes\n"
	      "Exception raised from recvBytes at TCPStore.cpp:1 (most recent call first):\n"
	      "frame #0: c10::Error::Error() + 0x96\n"
	      "RuntimeError: mine\n",
	      FOLDED(4) "a|RuntimeError: mine\n");
}

/* Of a connection that a peer has closed; those of an assertion are shown. */
TEST(frames_of_closed_connections_are_folded)
{
	folds("[W1127 00:00:00 TCPStore.cpp:115] [c10d] recvVector failed on SocketImpl(fd=4): "
	      "failed to recv, got 0 bytes\n"
	      "Exception raised from recvBytes at Utils.hpp:675 (most recent call first):\n"
	      "frame #0: c10::Error::Error() + 0x96\nframe #1: x\n\nmine\n",
	      "a|[W1127 00:00:00 TCPStore.cpp:115] [c10d] recvVector failed on "
	      "SocketImpl(fd=4): failed to recv, got 0 bytes\n" FOLDED(4) "a|mine\n");
	folds("Exception raised from c10_cuda_check at x.cpp:43 (most recent call first):\n"
	      "frame #0: x\n",
	      "a|Exception raised from c10_cuda_check at x.cpp:43 (most recent call "
	      "first):\na|frame #0: x\n");
}

/* What looks like it, and is a user's own. */
TEST(lines_of_users_are_not_folded)
{
	static const char *const lines[] = {
		"",
		STARS,
		OMP,
		"Failures:",
		"[0]:",
		"  rank      : 0",
		"Root Cause (first observed failure):",
		"============================================================",
		"train.py FAILED",
		"Sending process 5 closing signal SIGTERM",
		"W1126 16:12:47.757000 2 my/run.py:982] " STARS,
		"W1126 16:12:47.757000 2 torch/distributed/run.py:982] another warning",
		"E1126 16:12:47.648000 2 torch/distributed/elastic/multiprocessing/api.py:1002] "
		"failed (exitcode: 1) local_rank: 1 (pid: 7) of binary: /usr/bin/python3",
		"ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) "
		"local_rank: 0 (pid: 24024) of binary: /opt/conda/bin/python",
		"[2024-02-12 16:37:29,165] mine: [WARNING] " STARS,
		"WARNING:mine:",
		"W",
		"[2",
	};

	for (size_t i = 0; i < N_ELEMENTS(lines); i++) {
		struct lognoise_state s = { 0 };

		if (lognoise_is(&s, lines[i], strlen(lines[i])) || s.within)
			fail_msg("folded: %s", lines[i]);
	}
}

/* Of two processes at once, and after a while. */
TEST(two_processes_and_a_flush)
{
	cleanup_buf struct buf got = { .max = 1 << 16 };
	struct lognoise *f = lognoise_new(collect, &got, "j");

	feed(f, "a", CHILD "==========\n");
	feed(f, "b", CHILD "mine\n");
	assert_int_equal(lognoise_wake_ms(f), 1 + LOGNOISE_WAIT_MS);
	lognoise_flush(f, 1);
	feed(f, "a", "x FAILED\n");
	lognoise_flush(f, 2);
	assert_string_equal(
		(char *)got.data,
		"b|PyTorch: 1 line folded, see 'kftrainer logs --raw j'\nb|mine\n"
		"a|PyTorch: 3 lines folded, see 'kftrainer logs --raw j'\n");
	lognoise_free(f);
}

RUN_TESTS(NULL, NULL)
