/* Which attempt wrote a checkpoint; what is said of a place that fails, and of what is lost. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"
#include "runs/runs_impl.h"
#include "tests/unit/base/base_test.h"

static int said;
static char last[1200];

static void say(void *ctx, const char *text)
{
	said++;
	snprintf(last, sizeof(last), "%s", text);
}

static struct runs_conf conf = { .say = say };
static struct attempt first;

static struct runs new_runs(void)
{
	struct runs r = { .conf = &conf, .attempts = &first, .running = &first };

	first = (struct attempt){ .number = 1 };
	parts_init(&first.log, "logs/0", ".log.zst", true);
	parts_init(&first.events, "events", ".jsonl", false);
	parts_init(&first.metrics, "metrics", ".jsonl", false);
	pthread_mutex_init(&r.lock, NULL);
	return r;
}

/* A restart while a thread sends for long: what was there as it began is of the attempt before. */
TEST(test_attempts)
{
	char dir[] = "/tmp/kft-keep-XXXXXX";
	struct runs r = new_runs();
	struct error err = { 0 };

	assert_non_null(mkdtemp(dir));
	conf.dir = dir;
	first.number = 0;
	assert_int_equal(chdir(dir), 0);
	for (uint32_t i = 0; i < 4; i++) {
		char name[] = "checkpoint-0";

		name[11] = (char)('0' + i);
		assert_int_equal(mkdir(name, 0755), 0);
		runs_remember(&r);
		first.number = i + 1;
	}
	assert_int_equal(r.n_seen, 4);
	for (size_t i = 0; i < r.n_seen; i++) {
		check_int(r.seen[i].name,
			  runs_attempt_of(&r, r.seen[i].name, r.seen[i].fingerprint),
			  r.seen[i].name[11] - '0');
		check_int("it has changed",
			  runs_attempt_of(&r, r.seen[i].name, r.seen[i].fingerprint + 2),
			  4);
	}
	check_int("it is new", runs_attempt_of(&r, "checkpoint-4", 1), 4);
	free(r.seen);
	assert_int_equal(dir_remove(dir, &err), 0);
}

TEST(test_trouble)
{
	const struct error why = { .kind = ERR_IO, .msg = "gone" },
			   stopped = { .kind = ERR_STOPPED, .msg = "stopped" };
	struct runs r = new_runs();
	int64_t text = 0, rundir = 0;

	said = 0;
	runs_log_failure(&r, &text, &stopped);
	check_int("a stop", said, 0);
	runs_log_failure(&r, &text, &why);
	runs_log_failure(&r, &rundir, &why);
	check_int("both threads", said, 1);
	check_text("the line", last,
		   "run directory: gone; the job continues, and the upload is retried");
	for (int i = 0; i < 2; i++) {
		r.said = clock_ms() - RUNS_RETRY_MS; /* a minute later */
		runs_log_failure(&r, i ? &text : &rundir, &why);
	}
	check_int("a line a minute", said, 3);
	runs_log_failure(&r, &text, NULL);
	runs_log_failure(&r, &rundir, NULL);
	check_int("both are well", said, 4);
	check_text("which is said once", last, "run directory: it works again");
	runs_log_failure(&r, &text, NULL);
	check_int("nothing new", said, 4);
}

static void check_unsent(struct runs *r, const char *what, const char *line)
{
	char text[400];

	check_int(what, runs_unsent(r, text, sizeof(text)), true);
	check_text("the line", text, line);
}

TEST(test_unsent)
{
	struct runs r = new_runs();
	char text[400] = "";

	check_int("nothing", runs_unsent(&r, text, sizeof(text)), false);
	snprintf(r.due, sizeof(r.due), "checkpoint-1, checkpoint-2");
	check_unsent(
		&r, "checkpoints",
		"run directory: not uploaded: checkpoint-1, checkpoint-2: there was no "
		"more time");
	parts_add(&first.log, "x", 1);
	snprintf(r.error, sizeof(r.error), "s3://b/x: gone");
	check_unsent(
		&r, "and the log",
		"run directory: not uploaded: checkpoint-1, checkpoint-2, the end of its "
		"log: s3://b/x: gone");
	parts_release(&first.log);
}

/* Text that waits for the store in vain is dropped, which was never logged. */
TEST(test_dropped)
{
	struct runs r = new_runs();
	static char text[1024 * 1024];

	memset(text, 'x', sizeof(text));
	said = 0;
	runs_log_dropped(&r, &first);
	check_int("nothing", said, 0);
	for (int i = 0; i < 12; i++)
		parts_add(&first.events, text, sizeof(text));
	runs_log_dropped(&r, &first);
	check_int("a line", said, 1);
	check_text(
		"the line", last,
		"run directory: 3932160 bytes of the logs of attempt 1 are missing: more "
		"than 8 MiB waited for their upload");
	runs_log_dropped(&r, &first);
	check_int("once", said, 1);
	parts_release(&first.events);
}

RUN_TESTS(NULL, NULL)
