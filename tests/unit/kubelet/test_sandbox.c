/* Each kind of sandbox that a machine may allow, not only the best one. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "kubelet/process.h"
#include "tests/unit/unit.h"

extern char **environ;

struct seen {
	struct buf output;
	enum process_state states[4];
	size_t n;
};

static void on_output(void *ctx, const char *data, size_t len)
{
	buf_add(&((struct seen *)ctx)->output, data, len);
}

struct fixture {
	struct loop loop;
	struct process p;
	struct seen seen;
	char stage[32];
};

static void on_change(void *ctx)
{
	struct fixture *f = ctx;

	assert_true(f->seen.n < 4);
	f->seen.states[f->seen.n++] = f->p.state;
}

static void relay(void *ctx, const char *data, size_t len)
{
	on_output(&((struct fixture *)ctx)->seen, data, len);
}

static int try_begin(struct fixture *f, unsigned kind, const char *script)
{
	const char *argv[] = { "sh", "-c", script, NULL };
	struct error err = { 0 };
	struct sandbox_plan plan = { .kind = kind,
				     .argv = argv,
				     .hostname = "pod-1",
				     .envp = (const char *const *)(uintptr_t)environ,
				     .cgroup = { -1, -1 } };

	*f = (struct fixture){ .seen.output.max = 65536 };
	memcpy(f->stage, "/tmp/sandbox-test-XXXXXX", sizeof("/tmp/sandbox-test-XXXXXX"));
	assert_non_null(mkdtemp(f->stage));
	plan.stage = f->stage;
	f->p.on_output = relay;
	f->p.on_change = on_change;
	f->p.ctx = f;
	assert_int_equal(loop_init(&f->loop, &err), 0);
	return process_start(&f->loop, &f->p, &plan, &err);
}

static void begin(struct fixture *f, unsigned kind, const char *script)
{
	assert_int_equal(try_begin(f, kind, script), 0);
}

static void poll_once(struct fixture *f)
{
	struct error err = { 0 };

	assert_int_equal(loop_poll(&f->loop, 10000, -1, &err), 0);
}

static void run_until(struct fixture *f, enum process_state state)
{
	UNTIL(f->p.state == state, poll_once(f));
}

static void end(struct fixture *f)
{
	loop_release(&f->loop);
	buf_release(&f->seen.output);
	rmdir(f->stage);
}

static bool allowed(unsigned kind)
{
	struct fixture f;
	bool works = try_begin(&f, kind, "true") == 0;

	if (works)
		run_until(&f, PROCESS_ENDED);
	works = works && !f.p.failed;
	end(&f);
	return works;
}

static const unsigned kinds[] = {
	0,
	SANDBOX_USER | SANDBOX_MOUNT,
	SANDBOX_MOUNT | SANDBOX_PID,
	SANDBOX_USER | SANDBOX_MOUNT | SANDBOX_PID,
};

TEST(test_kinds)
{
	for (size_t i = 0; i < 4; i++) {
		struct fixture f;
		unsigned kind = kinds[i];
		const char *text;

		if (!allowed(kind))
			continue;
		/* Daemons, signals that are ignored: nothing keeps the container. */
		begin(&f, kind,
		      "echo pid $$; hostname; id -u; (setsid sh -c 'trap : TERM; "
		      "while :; do sleep 1; done' &); sleep 0.1; exit 5");
		run_until(&f, PROCESS_ENDED);
		text = (const char *)f.seen.output.data;
		assert_int_equal(f.p.code, 5);
		assert_int_equal(f.seen.n, 2);
		assert_int_equal(f.seen.states[0], PROCESS_RUNNING);
		if (kind & SANDBOX_PID)
			assert_non_null(strstr(text, "pid 2\n"));
		if (kind & SANDBOX_MOUNT)
			assert_non_null(strstr(text, "\npod-1\n"));
		if (geteuid() == 0)
			assert_non_null(strstr(text, "\n0\n"));
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		assert_int_equal(errno, ECHILD);
		end(&f);
	}
}

TEST(test_signals)
{
	for (size_t i = 0; i < 4; i++) {
		struct fixture f;

		if (!allowed(kinds[i]))
			continue;
		begin(&f, kinds[i],
		      "trap 'exit 9' TERM; echo here; while :; do sleep 0.02; done");
		UNTIL(f.seen.output.len, poll_once(&f));
		process_signal(&f.p, SIGTERM);
		run_until(&f, PROCESS_ENDED);
		assert_int_equal(f.p.code, 9);
		end(&f);
		begin(&f, kinds[i], "trap '' TERM; sleep 1000 & wait");
		run_until(&f, PROCESS_RUNNING);
		process_signal(&f.p, SIGKILL);
		run_until(&f, PROCESS_ENDED);
		assert_int_equal(f.p.code, 137);
		assert_int_equal(f.p.signal, SIGKILL);
		end(&f);
	}
}

/* A process sees what a container should, and no descriptor of ours. */
TEST(test_what_it_gets)
{
	for (size_t i = 0; i < 4; i++) {
		struct fixture f;

		if (!allowed(kinds[i]))
			continue;
		signal(SIGPIPE, SIG_IGN);
		begin(&f, kinds[i],
		      "ls /proc/self/fd; cat; grep -c '^SigIgn:.*0000000000000000' "
		      "/proc/self/status; grep -c '^SigBlk:.*0000000000000000' "
		      "/proc/self/status");
		run_until(&f, PROCESS_ENDED);
		signal(SIGPIPE, SIG_DFL);
		/* 3 is the folder that ls reads */
		assert_string_equal((char *)f.seen.output.data, "0\n1\n2\n3\n1\n1\n");
		end(&f);
	}
}

TEST(test_probe)
{
	char stage[] = "/tmp/sandbox-test-XXXXXX";
	pid_t trial = -1;
	unsigned kind;

	assert_non_null(mkdtemp(stage));
	kind = sandbox_probe(stage, &trial);
	assert_int_equal(!kind, !trial);
	sandbox_wait(trial);
	/* no trial is left, neither of that kind nor of those that failed */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_true(!kind || allowed(kind));
	assert_int_equal(rmdir(stage), 0);
}

RUN_TESTS(NULL, NULL)
