#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "local/report.h"
#include "tests/unit/kubelet/quoted.h"
#include "tests/unit/unit.h"

#define JOBSET                                                                      \
	"{'metadata':{'name':'j'},'spec':{'replicatedJobs':[{'name':'node',"        \
	"'template':{'metadata':{'labels':"                                         \
	"{'trainer.kubeflow.org/trainjob-ancestor-step':'trainer'}},"               \
	"'spec':{'completions':2,'template':{'spec':{'containers':[{'name':'node'," \
	"'resources':{'limits':{'memory':'64Mi'}}}]}}}}}]}}"

static const char *const pods[] = { "j-node-0-0-aaaaa", "j-node-0-1-bbbbb" };

static void line(struct report *r, int rank, const char *text)
{
	report_line(r, pods[rank], "node", text, strlen(text), 500);
}

/* The container's status is this. */
static void status(struct report *r, int rank, int64_t at_ms, const char *container)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *doc = parse(arena_printf(
		&a, "{'containerStatuses':[{'name':'node',%s}]}", container));

	report_status(r, pods[rank], doc, at_ms);
}

static void end(struct report *r, int rank, int64_t at_ms, int code)
{
	cleanup_arena struct arena a = { 0 };

	status(r, rank, at_ms,
	       arena_printf(&a, "'state':{'terminated':{'exitCode':%d}}", code));
}

static void expect(const struct report *r, int code, const char *want)
{
	cleanup_buf struct buf have = { .max = 65536 };

	report_print(&have, r, "/logs", "j");
	assert_string_equal(have.data ? (char *)have.data : "", want);
	assert_int_equal(report_exit_code(r), code);
}

#define TAIL "logs: /logs (kftrainer logs j)\n"

TEST(test_first_in_time_not_in_rank)
{
	cleanup_json cJSON *jobset = parse(JOBSET);
	struct report *r = report_new(jobset, 1000);

	expect(r, 0, "");
	line(r, 0, "peer is gone");
	line(r, 1, "boom");
	end(r, 1, 3100, 3);
	end(r, 0, 3200, 1);
	expect(r, 3,
	       "node-1 failed first, after 2.1 s: exit code 3\n"
	       "last line:\n"
	       "    boom\n" TAIL);
	report_free(r);
}

TEST(test_success_is_no_failure)
{
	cleanup_json cJSON *jobset = parse(JOBSET);
	struct report *r = report_new(jobset, 0);

	end(r, 0, 100, 0);
	expect(r, 0, "");
	report_free(r);
}

/* What a launcher writes about it pushes the error itself out of sight. */
TEST(test_error_above_the_last_lines)
{
	cleanup_json cJSON *jobset = parse(JOBSET);
	cleanup_buf struct buf have = { .max = 65536 };
	struct report *r = report_new(jobset, 0);

	line(r, 0, "[rank2]: ValueError: boom");
	line(r, 0, "[rank3]: RuntimeError: Connection closed by peer");
	for (int i = 0; i < 30; i++)
		line(r, 0, "summary");
	end(r, 0, 1000, 1);
	report_print(&have, r, "/logs", "j");
	assert_true(str_starts((char *)have.data,
			       "node-0 failed first, after 1.0 s: exit code 1\n"
			       "error: [rank2]: ValueError: boom\n"
			       "last 20 lines:\n    summary\n"));
	report_free(r);
}

TEST(test_twenty_lines)
{
	cleanup_json cJSON *jobset = parse(JOBSET);
	cleanup_buf struct buf want = { .max = 65536 };
	struct report *r = report_new(jobset, 0);
	char text[32];

	buf_adds(&want, "node-0 failed first, after 0.1 s: exit code 1\n"
			"last 20 lines:\n");
	for (int i = 0; i < 50; i++) {
		snprintf(text, sizeof(text), "line %d", i);
		line(r, 0, text);
		if (i >= 30)
			buf_printf(&want, "    %s\n", text);
	}
	buf_adds(&want, TAIL);
	end(r, 0, 100, 1);
	line(r, 0, "written after the end");
	expect(r, 1, (char *)want.data);
	report_free(r);
}

/* Hints about names and ports in use, and no others, name the mapped port. */
TEST(test_mapped_port)
{
	static const struct {
		const char *line, *want;
	} rows[] = {
		{ "OSError: [Errno 98] Address already in use",
		  "; port 29500 is mapped to 31000\n" },
		{ "gaierror: Name or service not known",
		  "; port 29500 is mapped to 31000\n" },
		{ "torch.OutOfMemoryError: CUDA out of memory. Tried", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *jobset = parse(JOBSET);
		cleanup_buf struct buf have = { .max = 65536 };
		struct report *r = report_new(jobset, 0);

		report_mapped_port(r, 29500, 31000);
		line(r, 0, rows[i].line);
		end(r, 0, 1, 1);
		report_print(&have, r, "/logs", "j");
		if (rows[i].want ? !strstr((char *)have.data, rows[i].want)
				 : strstr((char *)have.data, "mapped") != NULL)
			fail_msg("have: %s", have.data);
		report_free(r);
	}
}

/* One row: what the container wrote, how it ended, what the report says first. */
TEST(test_causes)
{
	static const struct {
		const char *line, *terminated;
		int code;
		const char *want;
	} rows[] = {
		{ "",
		  "'exitCode':137,'signal':9,'reason':'OOMKilled','message':'a process was "
		  "killed by the kernel: out of memory (over its memory limit)'",
		  137,
		  "out of memory (killed by the kernel)\n"
		  "hint: needs more memory than its limit of 64Mi: raise resources.limits.memory" },
		{ "", "'exitCode':139,'signal':11", 139,
		  "killed by SIGSEGV (signal 11)\nhint: a process crashed with SIGSEGV" },
		{ "", "'exitCode':132,'signal':4", 132,
		  "killed by SIGILL (signal 4)\nhint: a process used an instruction" },
		{ "", "'exitCode':132", 132,
		  "exit code 132\nhint: a process used an instruction" },
		{ "", "'exitCode':135,'signal':7", 135,
		  "killed by SIGBUS (signal 7)\nhint: a process got SIGBUS" },
		{ "", "'exitCode':152,'signal':24", 152,
		  "killed by SIGXCPU (signal 24)\nhint: a process used up the CPU time" },
		{ "", "'exitCode':153,'signal':25", 153,
		  "killed by SIGXFSZ (signal 25)\nhint: a file grew to the size that" },
		{ "x", "'exitCode':138,'signal':10", 138,
		  "killed by SIGUSR1 (signal 10)\nlast line" },
		{ "x", "'exitCode':143", 143, "exit code 143\nlast line" },
		{ "", "'exitCode':137,'signal':9", 137,
		  "killed by SIGKILL (signal 9)\nhint: killed by SIGKILL; check dmesg" },
		{ "Killed", "'exitCode':137", 137,
		  "exit code 137\nhint: killed by SIGKILL; check dmesg" },
		{ "", "'exitCode':137,'signal':9,'message':'killed by signal 9 (Killed)'",
		  137, "killed by SIGKILL (signal 9)\nhint: killed by SIGKILL" },
		{ "",
		  "'exitCode':137,'signal':9,'message':'killed by signal 9 (Killed): its "
		  "probe failed'",
		  137, "killed by SIGKILL (signal 9): its probe failed\nhint" },
		{ "", "'exitCode':127,'reason':'StartError','message':'trian: not found'",
		  127, "exit code 127: trian: not found\nhint: command not found" },
		{ "", "'exitCode':127,'message':'command not found: a'", 127,
		  "hint: command not found: install it" },
		{ "", "'exitCode':127,'message':'command not found: cd'", 127,
		  "hint: only a shell has this command: start one, with sh -c" },
		{ "", "'exitCode':127,'message':'command not found: A=1'", 127,
		  "hint: this is a variable, not a command: set it in env" },
		{ "", "'exitCode':127,'message':'command not found: python3 a.py --b=1'",
		  127, "hint: these words are one: make each an item of command" },
		{ "",
		  "'exitCode':127,'reason':'StartError','message':'script with the line "
		  "ends of Windows: ./a'",
		  127,
		  "exit code 127: script with the line ends of Windows: ./a\nhint: "
		  "convert it, as with sed" },
		{ "",
		  "'exitCode':126,'reason':'StartError','message':'script with a byte order "
		  "mark before its #! line: ./a'",
		  126,
		  "exit code 126: script with a byte order mark before its #! line: "
		  "./a\nhint: remove the mark" },
		{ "",
		  "'exitCode':126,'reason':'StartError','message':'file that is neither a "
		  "program nor a script with a #! line: ./a'",
		  126,
		  "exit code 126: file that is neither a program nor a script with a #! "
		  "line: ./a\nhint: begin it with a line such as #!/usr/bin/env" },
		{ "",
		  "'exitCode':126,'reason':'StartError','message':'file of a file system "
		  "that is mounted noexec: ./a: Permission denied'",
		  126,
		  "noexec: ./a: Permission denied\nhint: start it with its interpreter" },
		{ "",
		  "'exitCode':127,'reason':'StartError','message':'script whose interpreter "
		  "(#! line) is not there: /v/bin/torchrun'",
		  127, "is not there: /v/bin/torchrun\nhint: head -n 1 shows" },
		{ "kftrainer supervise: ./a: a script whose interpreter (#! line) is not "
		  "there: head -n 1 shows it",
		  "'exitCode':127", 127, "exit code 127\nlast line" },
		{ "kftrainer supervise: a: No such file or directory", "'exitCode':127",
		  127, "exit code 127\nhint: command not found" },
		{ "", "'exitCode':126", 126, "exit code 126\nhint: file not executable" },
		{ "kftrainer supervise: run directory: it belongs to job a",
		  "'exitCode':126", 126, "exit code 126\nlast line" },
		{ "bash: line 1: /bin/true: Argument list too long", "'exitCode':126",
		  126, "exit code 126\nhint: Linux takes 128 KiB of one argument" },
		{ "",
		  "'exitCode':126,'message':'the arguments and the environment are too long "
		  "for execve(): /bin/sh'",
		  126,
		  "exit code 126: the arguments and the environment are too long for "
		  "execve(): /bin/sh\nhint: Linux takes 128 KiB of one argument" },
		{ "ModuleNotFoundError: No module named 'torchx.y'", "'exitCode':1", 1,
		  "exit code 1\nhint: Python module torchx.y is not installed" },
		{ "ModuleNotFoundError: No module named 'cut", "'exitCode':1", 1,
		  "exit code 1\nlast line" },
		{ "OSError: [Errno 98] Address already in use", "'exitCode':1", 1,
		  "exit code 1\nhint: the port on which the script listens is in use" },
		{ "torch.OutOfMemoryError: CUDA out of memory. Tried", "'exitCode':1", 1,
		  "exit code 1\nhint: the memory of a GPU or other device is full" },
		{ "RuntimeError: NCCL error in: x.cpp:1", "'exitCode':1", 1,
		  "exit code 1\nhint: NCCL failed: set NCCL_DEBUG=INFO" },
		{ "RuntimeError: [gloo] connectFullMesh failed with", "'exitCode':1", 1,
		  "exit code 1\nhint: gloo could not connect the ranks" },
		{ "connect() failed: Connection refused", "'exitCode':1", 1,
		  "exit code 1\nhint: nothing accepts connections" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *jobset = parse(JOBSET);
		cleanup_buf struct buf have = { .max = 65536 };
		struct report *r = report_new(jobset, 0);

		line(r, 0, rows[i].line);
		status(r, 0, 1,
		       arena_printf(&a, "'state':{'terminated':{%s}}",
				    rows[i].terminated));
		report_print(&have, r, "/logs", "j");
		if (!strstr((char *)have.data, rows[i].want))
			fail_msg("have: %s\nwant: %s", have.data, rows[i].want);
		assert_int_equal(report_exit_code(r), rows[i].code);
		report_free(r);
	}
}

/* What explains more wins, whatever came first. */
TEST(test_better_cause_wins)
{
	cleanup_json cJSON *jobset = parse(JOBSET);
	struct report *r = report_new(jobset, 0);
	cleanup_buf struct buf have = { .max = 65536 };

	line(r, 0, "ModuleNotFoundError: No module named 'x'");
	line(r, 0, "Connection refused");
	end(r, 0, 1, 1);
	report_print(&have, r, "/logs", "j");
	assert_non_null(strstr((char *)have.data, "Python module x"));
	report_free(r);

	/* unless it is long ago */
	r = report_new(jobset, 0);
	line(r, 0, "CUDA out of memory: the batch is halved");
	for (int i = 0; i < 201; i++)
		line(r, 0, "epoch");
	line(r, 0, "Connection refused");
	end(r, 0, 1, 1);
	buf_clear(&have);
	report_print(&have, r, "/logs", "j");
	assert_non_null(strstr((char *)have.data, "hint: nothing accepts"));
	report_free(r);
}

/* Each rank's log is read on its own. */
TEST(test_last_error_of_nccl)
{
	cleanup_json cJSON *jobset = parse(JOBSET);
	struct report *r = report_new(jobset, 0);
	cleanup_buf struct buf have = { .max = 65536 };

	line(r, 0, "RuntimeError: NCCL error in: x.cpp:1, unhandled cuda error");
	line(r, 0, "Last error:");
	line(r, 1, "Last error:");
	line(r, 0, "Cuda failure 1 'invalid argument'");
	line(r, 1, "");
	end(r, 0, 1, 1);
	report_print(&have, r, "/logs", "j");
	assert_non_null(strstr((char *)have.data,
			       "hint: NCCL: Cuda failure 1 'invalid argument'\n"));
	report_free(r);
}

/* Launchers notice late: who ended first may be one that only missed the other. */
TEST(test_victims)
{
	cleanup_json cJSON *jobset = parse(JOBSET);
	struct report *r = report_new(jobset, 0);

	line(r, 1, "ValueError: boom");
	line(r, 1, "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ");
	line(r, 0, "RuntimeError: [gloo] Connection closed by peer [127.0.0.1]");
	end(r, 0, 5000, 1);
	/* the other is not over yet, or was stopped for it */
	report_forget(r, pods[1]);
	expect(r, 1,
	       "node-1 failed first, after 0.5 s\n"
	       "error: ValueError: boom\n"
	       "node-0 then lost that peer: exit code 1\n"
	       "last line:\n    ValueError: boom\n" TAIL);
	report_free(r);

	r = report_new(jobset, 0);
	line(r, 1, "ValueError: boom");
	line(r, 0, "RuntimeError: [gloo] Connection closed by peer [127.0.0.1]");
	end(r, 0, 5000, 1);
	end(r, 1, 6000, 3);
	expect(r, 3,
	       "node-1 failed first, after 6.0 s: exit code 3\n"
	       "last line:\n    ValueError: boom\n" TAIL);
	report_free(r);

	/* nobody has a reason of its own: time decides */
	r = report_new(jobset, 0);
	line(r, 0, "RuntimeError: Connection reset by peer");
	line(r, 1, "RuntimeError: Connection reset by peer");
	end(r, 0, 5000, 1);
	end(r, 1, 6000, 2);
	assert_int_equal(report_exit_code(r), 1);
	report_free(r);
}

TEST(test_restarts)
{
	cleanup_json cJSON *jobset = parse(JOBSET);
	struct report *r = report_new(jobset, 0);

	/* seen only after it was started again */
	status(r, 1, 1000,
	       "'restartCount':1,'state':{'running':{}},"
	       "'lastState':{'terminated':{'exitCode':5}}");
	/* nothing new */
	status(r, 1, 1500,
	       "'restartCount':1,'state':{'running':{}},"
	       "'lastState':{'terminated':{'exitCode':5}}");
	end(r, 0, 1700, 9);
	status(r, 1, 2000,
	       "'restartCount':1,'state':{'terminated':{'exitCode':6}},"
	       "'lastState':{'terminated':{'exitCode':5}}");
	expect(r, 5,
	       "node-1 failed first, after 1.0 s: exit code 5 (and once more)\n"
	       "no output\n" TAIL);
	report_free(r);
}

TEST(test_overcome)
{
	cleanup_json cJSON *jobset = parse(JOBSET);
	struct report *r = report_new(jobset, 0);

	status(r, 1, 1000,
	       "'restartCount':1,'state':{'running':{}},"
	       "'lastState':{'terminated':{'exitCode':5}}");
	end(r, 0, 100000, 9);
	expect(r, 9, "node-0 failed first, after 100.0 s: exit code 9\nno output\n" TAIL);
	report_free(r);
}

TEST(test_a_restart_of_the_jobset_starts_over)
{
	cleanup_json cJSON *jobset = parse(JOBSET);
	struct report *r = report_new(jobset, 0);

	end(r, 0, 1000, 5);
	report_restart(r);
	report_forget(r, pods[0]);
	expect(r, 0, "");
	end(r, 1, 2000, 6);
	end(r, 0, 2100, 7);
	expect(r, 6,
	       "node-1 failed first, after 2.0 s: exit code 6\n"
	       "no output\n" TAIL);
	report_free(r);
}

TEST(test_prefix)
{
	cleanup_json cJSON *jobset = parse(JOBSET);
	struct report *r = report_new(jobset, 0);

	assert_string_equal(report_line(r, pods[1], "node", "x", 1, 0), "node-1");
	assert_string_equal(report_line(r, "who", "node", "x", 1, 0), "who");
	report_free(r);
}

TEST(test_many_failures_stay_bounded)
{
	cleanup_json cJSON *jobset = parse(JOBSET);
	struct report *r = report_new(jobset, 0);
	cleanup_arena struct arena a = { 0 };

	for (int i = 1; i < 2 * REPORT_FAILURES; i++)
		status(r, 0, i,
		       arena_printf(
			       &a,
			       "'restartCount':%d,'state':{'running':{}},'lastState':"
			       "{'terminated':{'exitCode':5}}",
			       i));
	assert_int_equal(report_exit_code(r), 5);
	report_free(r);
}

static void report_is(const char *const *lines, size_t n, const char *want)
{
	cleanup_json cJSON *jobset = parse(JOBSET);
	struct report *r = report_new(jobset, 0);

	for (size_t i = 0; i < n; i++)
		line(r, 0, lines[i]);
	end(r, 0, 1000, 1);
	expect(r, 1, want);
	report_free(r);
}

#define FAILED "node-0 failed first, after 1.0 s: exit code 1\n"

/* The first own error's, without what the launcher writes about it, is last. */
TEST(test_traceback)
{
	static const char *const of_a_rank[] = {
		"step 1",
		"[rank1]: Traceback (most recent call last):",
		"[rank2]: Traceback (most recent call last):",
		"[rank1]:   File \"a.py\", line 6, in <module>",
		"[rank2]:   File \"b.py\", line 7, in <module>",
		"[rank1]: ValueError: \033[31mboom\033[0m",
		"[rank2]: RuntimeError: Connection closed by peer",
		"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
		"============",
	};
	static const char *const chained[] = {
		"Traceback (most recent call last):",
		"  File \"a.py\", line 1",
		"KeyError: 'x'",
		"",
		"During handling of the above exception, another exception occurred:",
		"",
		"Traceback (most recent call last):",
		"  File \"a.py\", line 3",
		"ValueError: boom",
		"Traceback (most recent call last):",
		"  File \"late.py\", line 3",
		"OSError: late",
	};
	static const char *const of_a_peer[] = {
		"Traceback (most recent call last):",
		"  File \"a.py\", line 1",
		"RuntimeError: Connection closed by peer",
		"ValueError: boom",
	};

	static const char *const of_a_process[] = {
		"[default1]:Traceback (most recent call last):",
		"[default0]:hello",
		"[default1]:  File \"a.py\", line 4, in <module>",
		"[default1]:ValueError: boom",
	};

	static const char *const two[] = {
		"[rank1]: Traceback (most recent call last):",
		"[rank2]: Traceback (most recent call last):",
		"[rank1]:   File \"a.py\", line 6",
		"[rank2]:   File \"b.py\", line 7",
		"[rank1]: RuntimeError: Connection closed by peer",
		"[rank2]: AssertionError",
	};

	static const char *const unfinished[] = {
		"step 1",
		"[rank1]: Traceback (most recent call last):",
		"[rank1]:   File \"a.py\", line 6",
		"[rank0]: step 2",
	};

	report_is(unfinished, N_ELEMENTS(unfinished),
		  FAILED
		  "unfinished traceback of rank1:\n      File \"a.py\", line 6\n" TAIL);
	report_is(unfinished, 2, FAILED "last line:\n    step 1\n" TAIL);
	report_is(of_a_process, N_ELEMENTS(of_a_process),
		  FAILED "traceback of default1:\n"
			 "      File \"a.py\", line 4, in <module>\n"
			 "    ValueError: boom\n" TAIL);
	report_is(of_a_rank, N_ELEMENTS(of_a_rank),
		  FAILED "traceback of rank1:\n"
			 "      File \"a.py\", line 6, in <module>\n"
			 "    ValueError: boom\n" TAIL);
	report_is(chained, N_ELEMENTS(chained),
		  FAILED "traceback:\n"
			 "      File \"a.py\", line 1\n"
			 "    KeyError: 'x'\n"
			 "    During handling of the above exception, another exception "
			 "occurred:\n"
			 "    Traceback (most recent call last):\n"
			 "      File \"a.py\", line 3\n"
			 "    ValueError: boom\n" TAIL);
	report_is(of_a_peer, N_ELEMENTS(of_a_peer),
		  FAILED "last lines:\n    RuntimeError: Connection closed by peer\n"
			 "    ValueError: boom\n" TAIL);
	report_is(of_a_peer, N_ELEMENTS(of_a_peer) - 1,
		  FAILED "hint: the other side closed the connection: if it is another "
			 "rank, check its log\n"
			 "traceback:\n      File \"a.py\", line 1\n"
			 "    RuntimeError: Connection closed by peer\n" TAIL);
	report_is(two, N_ELEMENTS(two),
		  FAILED "traceback of rank2:\n      File \"b.py\", line 7\n"
			 "    AssertionError\n" TAIL);
}

RUN_TESTS(NULL, NULL)
