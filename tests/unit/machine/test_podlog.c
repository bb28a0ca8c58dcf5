/*
 * Logs of this machine's pods as an API gives them (kubelet/podlog.h), read by clients in the
 * same process (kube/streams.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/kubelet/quoted.h"

#include "api/meta.h"
#include "base/file.h"
#include "base/str.h"
#include "kube/streams.h"
#include "kubelet/node.h"
#include "kubelet/output.h"
#include "local/state_owned.h"
#include "machine/machine.h"
#include "trainer/api.h"

/* Of files, by the whole process. */
static _Atomic long calls;

int fstat(int fd, struct stat *st)
{
	calls++;
	return (int)syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}

ssize_t pread(int fd, void *data, size_t len, off_t at)
{
	calls++;
	return syscall(SYS_pread64, fd, data, len, at);
}

static char home[] = "/tmp/kftrainer-podlog-XXXXXX";

/* ---- a pod ---------------------------------------------------------------------------- */

/* What its container has written in two runs, and when. */
static const struct piece {
	int64_t second;
	bool begins;
	const char *text;
} pieces[] = {
	{ 100, true, "one\ntwo\n" },  { 200, false, "three\n" },
	{ 300, true, "four\nfi" },    { 400, false, "ve\nsix\n" },
	{ 500, false, "no newline" },
};

struct fixture {
	struct state_run run;
	struct arena arena;
	const char *logs;
	cJSON *pod;
	struct kube *kube;
	struct kube_streams *streams;
};

static void add(const struct fixture *f, const char *name, const void *data, size_t len)
{
	cleanup_arena struct arena a = { 0 };
	FILE *out = fopen(path_join(&a, f->logs, name), "a");

	assert_non_null(out);
	assert_int_equal(fwrite(data, 1, len, out), len);
	fclose(out);
}

static void write_pieces(struct fixture *f)
{
	static const struct timespec written[] = { { 100, 0 }, { 100, 0 } };
	int64_t offset = 0;

	for (size_t i = 0; i < N_ELEMENTS(pieces); i++) {
		const struct output_mark mark = { .offset = offset,
						  .time_ns =
							  pieces[i].second * 1000000000,
						  .begins = pieces[i].begins };

		add(f, "node.times", &mark, sizeof(mark));
		add(f, "node.log", pieces[i].text, strlen(pieces[i].text));
		offset += (int64_t)strlen(pieces[i].text);
	}
	add(f, "node.times", "torn", 4);
	add(f, "old.log", "no marks\n", 9);
	if (utimensat(AT_FDCWD, path_join(&f->arena, f->logs, "old.log"), written, 0))
		fail_msg("%s", strerror(errno));
}

#define POD                                                                              \
	"{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','namespace':'ns','uid':" \
	"'u'},'spec':{'containers':[{'name':'node'},{'name':'old'},{'name':'none'},"     \
	"{'name':'waits'}]},"                                                            \
	"'status':{'phase':'Running','containerStatuses':[{'name':'node','state':{'"     \
	"running':{}},'lastState':{'terminated':{'exitCode':1}},'restartCount':1},"      \
	"{'name':'old','state':{'terminated':{'exitCode':0}}},"                          \
	"{'name':'none','state':{'terminated':{'exitCode':0}}},"                         \
	"{'name':'waits','state':{'waiting':{'reason':'Sleepy'}}}]}}"

static int setup(void **state)
{
	static int n;
	static const struct kube_opts opts = { .user_agent = "test" };
	struct fixture *f = calloc(1, sizeof(*f));
	cleanup_json cJSON *tj = parse("{'metadata':{'name':'x'}}");
	cleanup_json cJSON *objects = parse(
		"[{'kind':'JobSet','apiVersion':'jobset.x-k8s.io/v1alpha2','metadata':{"
		"'name':'x'},'spec':{'replicatedJobs':[]}}]");
	struct error err = { 0 };

	setenv("XDG_STATE_HOME", arena_printf(&f->arena, "%s/%d", home, n++), 1);
	if (state_begin(&f->run, "ns", "x", tj, objects, &err) ||
	    machine_connect(&f->kube, &opts, &err) ||
	    kube_streams_new(&f->streams, f->kube, &err))
		return -1;
	f->logs = path_join(&f->arena, f->run.logs, "p");
	f->pod = parse(POD);
	meta_set_annotation(f->pod, NODE_LOGS_ANNOTATION, f->logs);
	state_publish(&f->run, "Pod", "p", f->pod);
	if (dir_make(f->logs, 0700, &err))
		return -1;
	write_pieces(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kube_streams_free(f->streams);
	kube_free(f->kube);
	state_end(&f->run);
	cJSON_Delete(f->pod);
	arena_clear(&f->arena);
	free(f);
	return 0;
}

/* ---- one answer ----------------------------------------------------------------------- */

struct answer {
	struct buf text;
	struct error err;
	bool ended;
	struct kube_stream *stream;
};

static int on_data(void *ctx, const void *data, size_t len, struct error *err)
{
	struct answer *a = ctx;

	buf_add(&a->text, data, len);
	return 0;
}

static void on_end(void *ctx, const struct error *err)
{
	struct answer *a = ctx;

	a->ended = true;
	if (err)
		a->err = *err;
}

static void ask(struct fixture *f, struct answer *a, const char *query)
{
	cleanup_arena struct arena arena = { 0 };
	const struct kube_stream_sink sink = {
		.what = "get log", .on_data = on_data, .on_end = on_end, .ctx = a
	};
	struct error err = { 0 };

	*a = (struct answer){ .text.max = 1 << 20 };
	if (kube_stream_open(
		    &a->stream, f->streams,
		    arena_printf(&arena, "/api/v1/namespaces/ns/pods/p/log?%s", query),
		    &sink, &err))
		fail_msg("%s", err.msg);
}

static void run(struct fixture *f)
{
	struct error err = { 0 };

	if (kube_streams_run(f->streams, 1000, &err))
		fail_msg("%s", err.msg);
}

static const char *text_of(const struct answer *a)
{
	return a->text.data ? (const char *)a->text.data : "";
}

#define AT(minute, second) "1970-01-01T00:0" #minute ":" #second ".000000000Z "

static void test_what_is_asked_for(void **state)
{
	static const struct {
		const char *query, *want;
	} rows[] = {
		{ "container=node", "four\nfive\nsix\nno newline" },
		{ "container=node&previous=true", "one\ntwo\nthree\n" },
		{ "container=node&tailLines=2", "six\nno newline" },
		{ "container=node&tailLines=9", "four\nfive\nsix\nno newline" },
		{ "container=node&tailLines=0", "" },
		{ "container=node&previous=true&tailLines=1", "three\n" },
		{ "container=node&limitBytes=6", "four\nf" },
		{ "container=node&sinceTime=1970-01-01T00:05:00Z",
		  "four\nfive\nsix\nno newline" },
		{ "container=node&sinceTime=1970-01-01T00:05:01Z", "six\nno newline" },
		{ "container=node&sinceTime=1970-01-01T00:05:01Z&tailLines=1",
		  "no newline" },
		{ "container=node&sinceTime=1970-01-01T00:09:00Z", "" },
		{ "container=node&timestamps=true",
		  AT(5, 00) "four\n" AT(5, 00) "five\n" AT(6, 40) "six\n" AT(
			  8, 20) "no newline" },
		{ "container=node&timestamps=true&previous=true",
		  AT(1, 40) "one\n" AT(1, 40) "two\n" AT(3, 20) "three\n" },
		{ "container=old", "no marks\n" },
		{ "container=old&timestamps=true", AT(1, 40) "no marks\n" },
		{ "container=old&sinceTime=1970-01-01T00:01:40Z", "no marks\n" },
		{ "container=old&sinceTime=1970-01-01T00:01:41Z", "" },
		{ "container=none", "" },
		{ "container=none&follow=true&timestamps=true", "" },
		{ "container=old&follow=true&tailLines=1", "no marks\n" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct answer a;

		ask(f, &a, rows[i].query);
		UNTIL(a.ended, run(f));
		assert_string_equal(a.err.msg, "");
		if (!str_eq(text_of(&a), rows[i].want))
			fail_msg("%s: %s", rows[i].query, text_of(&a));
		buf_release(&a.text);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *query;
		int code;
	} rows[] = {
		{ "container=waits", 400 },
		{ "container=other", 400 },
		{ "container=old&previous=true", 400 },
		{ "container=node&tailLines=-1", 422 },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct answer a;

		ask(f, &a, rows[i].query);
		UNTIL(a.ended, run(f));
		assert_int_equal(a.err.code, rows[i].code);
		assert_string_equal(text_of(&a), "");
	}
}

static void remove_log(const struct fixture *f, const char *name)
{
	cleanup_arena struct arena a = { 0 };

	assert_int_equal(unlink(path_join(&a, f->logs, name)), 0);
}

static void expect_gone(struct fixture *f, const char *query, bool gone)
{
	struct answer a;

	ask(f, &a, query);
	UNTIL(a.ended, run(f));
	assert_int_equal(a.err.code, gone ? 410 : 0);
	if (gone)
		assert_non_null(strstr(a.err.msg, "its log is gone: "));
	assert_string_equal(text_of(&a), "");
}

/* A log that was removed is not an empty one. */
static void test_removed(void **state)
{
	struct fixture *f = *state;

	remove_log(f, "node.log");
	expect_gone(f, "container=node", true);
	expect_gone(f, "container=node&follow=true", true);
	expect_gone(f, "container=none", false);
	assert_int_equal(dir_remove(f->logs, IGNORED), 0);
	expect_gone(f, "container=none", true);
}

/* As a watch does for who follows. */
static void read_pod(struct fixture *f)
{
	const struct kube_ref ref = { "v1", "Pod", "ns", "p" };
	struct error err = { 0 };
	cJSON *pod = NULL;

	assert_int_equal(kube_get(f->kube, &ref, &pod, &err), 0);
	cJSON_Delete(pod);
	run(f);
}

/* Several at once: each has what comes, and ends when its container has. */
static void test_follow(void **state)
{
	struct fixture *f = *state;
	cJSON *node = json_find(json_get(f->pod, "status", "containerStatuses"), "name",
				"node");
	struct answer all, last, dropped;

	ask(f, &all, "container=node&follow=true");
	ask(f, &last, "container=node&follow=true&tailLines=0");
	ask(f, &dropped, "container=node&follow=true");
	run(f);
	assert_string_equal(text_of(&all), "four\nfive\nsix\nno newline");
	assert_string_equal(text_of(&last), "");
	kube_stream_drop(dropped.stream);
	buf_release(&dropped.text);
	add(f, "node.log", "\nseven\n", 7);
	UNTIL(last.text.len, run(f));
	assert_string_equal(text_of(&last), "\nseven\n");
	assert_false(all.ended || last.ended);
	add(f, "node.log", "end\n", 4);
	json_put_int(node, 0, "state", "terminated", "exitCode");
	json_del(node, JSON_PATH("state", "running"));
	state_publish(&f->run, "Pod", "p", f->pod);
	UNTIL(all.ended && last.ended, read_pod(f));
	assert_string_equal(text_of(&all), "four\nfive\nsix\nno newline\nseven\nend\n");
	assert_string_equal(text_of(&last), "\nseven\nend\n");
	assert_string_equal(all.err.msg, "");
	buf_release(&all.text);
	buf_release(&last.text);
}

/* What is open is dropped with the rest, without a word. */
static void test_left_open(void **state)
{
	struct fixture *f = *state;
	struct answer a;

	ask(f, &a, "container=node&follow=true");
	run(f);
	assert_false(a.ended);
	buf_release(&a.text);
}

/* A pod whose logs are elsewhere, or nowhere. */
static void test_no_logs(void **state)
{
	struct fixture *f = *state;
	struct answer a;

	json_del(f->pod, JSON_PATH("metadata", "annotations"));
	state_publish(&f->run, "Pod", "p", f->pod);
	ask(f, &a, "container=node");
	UNTIL(a.ended, run(f));
	assert_int_equal(a.err.code, 500);
}

/* Nobody checks what is in the files of a run. */
static void test_no_uid(void **state)
{
	struct fixture *f = *state;
	struct answer a;

	json_del(f->pod, JSON_PATH("metadata", "uid"));
	state_publish(&f->run, "Pod", "p", f->pod);
	ask(f, &a, "container=old&follow=true");
	UNTIL(a.ended, run(f));
	assert_string_equal(text_of(&a), "no marks\n");
	buf_release(&a.text);
}

enum { LONG = 512 * 1024, MOST_CALLS = 1000 };

/* As of a progress bar. No call for each byte of it. */
static void test_a_long_line(void **state)
{
	static const struct {
		const char *query;
		size_t want;
	} rows[] = {
		{ "container=none&tailLines=1", 5 },
		{ "container=none&tailLines=2", LONG + 5 },
		{ "container=none&tailLines=3", LONG + 11 },
		{ "container=none&sinceTime=1970-01-01T00:02:30Z", LONG + 5 },
		{ "container=none&sinceTime=1970-01-01T00:03:20Z", 5 },
		{ "container=none&sinceTime=1970-01-01T00:03:21Z", 0 },
	};
	/* The last one is within the line. */
	static const struct output_mark marks[] = { { 0, 100000000000, true },
						    { 6, 150000000000, false },
						    { 7, 200000000000, false } };
	struct fixture *f = *state;
	char *line = malloc(LONG);

	assert_non_null(line);
	memset(line, 'x', LONG);
	line[LONG - 1] = '\n';
	add(f, "none.times", marks, sizeof(marks));
	add(f, "none.log", "first\n", 6);
	add(f, "none.log", line, LONG);
	add(f, "none.log", "last\n", 5);
	free(line);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		long before = calls;
		struct answer a;

		ask(f, &a, rows[i].query);
		UNTIL(a.ended, run(f));
		assert_int_equal(a.text.len, rows[i].want);
		if (calls - before > MOST_CALLS)
			fail_msg("%s: %ld calls", rows[i].query, calls - before);
		buf_release(&a.text);
	}
}

/* Each line written by itself. No call for each of them, whatever part is asked for. */
static void test_many_pieces(void **state)
{
	static const struct {
		const char *query, *first;
		size_t lines;
	} rows[] = {
		{ "container=none", "1100\n", 1900 },
		{ "container=none&tailLines=1", "2999\n", 1 },
		{ "container=none&sinceTime=1970-01-01T00:35:00Z", "2000\n", 1000 },
		{ "container=none&sinceTime=1970-01-01T00:51:39Z", "2999\n", 1 },
		{ "container=none&timestamps=true&tailLines=1",
		  "1970-01-01T00:51:39.000000000Z 2999\n", 1 },
		{ "container=none&timestamps=true&tailLines=952",
		  "1970-01-01T00:35:48.000000000Z 2048\n", 952 },
	};
	struct fixture *f = *state;

	for (int i = 0; i < 3000; i++) {
		const struct output_mark mark = { .offset = 5 * i,
						  .time_ns =
							  (100 + i) * INT64_C(1000000000),
						  .begins = i == 0 || i == 1100 };
		char line[8];

		snprintf(line, sizeof(line), "%04d\n", i);
		add(f, "none.times", &mark, sizeof(mark));
		add(f, "none.log", line, 5);
	}
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		long before = calls;
		struct answer a;

		ask(f, &a, rows[i].query);
		UNTIL(a.ended, run(f));
		assert_true(str_starts(text_of(&a), rows[i].first));
		assert_int_equal(a.text.len, rows[i].lines * strlen(rows[i].first));
		if (calls - before > MOST_CALLS)
			fail_msg("%s: %ld calls", rows[i].query, calls - before);
		buf_release(&a.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_follow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left_open, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_logs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_uid, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_long_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_pieces, setup, teardown),
	};
	struct error err = { 0 };
	int rc;

	if (!mkdtemp(home))
		return 1;
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	return dir_remove(home, &err) ? 1 : rc;
}
