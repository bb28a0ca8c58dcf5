#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/str.h"
#include "tests/unit/base/base_test.h"

/* What was logged since, less the time at the beginning of the line. */
static char *logged(struct arena *a, int fd)
{
	cleanup_buf struct buf b = { .max = 100000 };
	struct error err = { 0 };

	lseek(fd, 0, SEEK_SET);
	assert_int_equal(file_read_fd(&b, fd, "log", &err), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	lseek(fd, 0, SEEK_SET);
	return arena_strdup(a, b.data ? (char *)b.data : "");
}

static int temporary(void)
{
	char path[] = "/tmp/kftrainer-test-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	unlink(path);
	return fd;
}

TEST(text_lines)
{
	struct error err = { .msg = "no \"such\" file" };
	cleanup_arena struct arena a = { 0 };
	cleanup_fd int fd = temporary();
	char *line;

	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, fd);
	log_debug("not wanted");
	assert_string_equal(logged(&a, fd), "");
	log_info("reconciled", LOG_STR("trainjob", "a/b"), LOG_INT("ms", -12),
		 LOG_STR("why", "two words"), LOG_STR("none", (char *)NULL),
		 LOG_ERR(&err));
	line = logged(&a, fd);
	assert_int_equal(line[19], 'Z');
	assert_string_equal(line + 20,
			    " INFO reconciled trainjob=a/b ms=-12 why=\"two words\" "
			    "none=\"\" error=\"no \\\"such\\\" file\"\n");
	log_warn("plain");
	assert_string_equal(logged(&a, fd) + 20, " WARN plain\n");
}

TEST(test_json_lines)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_fd int fd = temporary();
	cleanup_json cJSON *doc = NULL;

	log_setup(LOG_LEVEL_DEBUG, LOG_FORMAT_JSON, fd);
	log_debug("a \"b\"\n", LOG_STR("k", "\x01"), LOG_INT("n", INT64_MAX));
	doc = doc_of(logged(&a, fd));
	assert_string_equal(json_str(doc, "level"), "debug");
	assert_string_equal(json_str(doc, "msg"), "a \"b\"\n");
	assert_string_equal(json_str(doc, "k"), "\\x01");
	assert_true(json_int(doc, 0, "n") == INT64_MAX);
}

/* Strings of objects and peers: ESC, CSI, DEL, an override of the direction, a bad byte. */
TEST(test_what_terminals_obey)
{
#define HOSTILE           \
	"\x1b[2J\xc2\x9b" \
	"1m\x7f\xe2\x80\xaex\xff\r"
#define SHOWN "\\x1b[2J\\x9b1m\\x7f\\u202ex\\xff\\x0d"
	cleanup_arena struct arena a = { 0 };
	cleanup_fd int fd = temporary();
	cleanup_json cJSON *doc = NULL;

	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, fd);
	log_info(HOSTILE,
		 LOG_STR("a", "\xc2\x9b"
			      "1m"),
		 LOG_STR("b", "\xc2\x9b\n\t"));
	assert_string_equal(logged(&a, fd) + 20,
			    " INFO " SHOWN " a=\\x9b1m b=\"\\\\x9b\\n\\t\"\n");
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JSON, fd);
	log_info("m", LOG_STR("a", HOSTILE));
	doc = doc_of(logged(&a, fd));
	assert_string_equal(json_str(doc, "a"), SHOWN);
}

TEST(test_a_line_too_long_says_so)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_fd int fd = temporary();
	char *field = arena_alloc(&a, 20001);

	memset(field, 'x', 20000);
	log_setup(LOG_LEVEL_INFO, LOG_FORMAT_TEXT, fd);
	log_info("big", LOG_STR("k", field));
	assert_string_equal(logged(&a, fd) + 20, " INFO big fields=\"too long\"\n");
	log_info(field);
	assert_true(strlen(logged(&a, fd)) < 17000);
}

TEST(test_what_repeats_is_no_news)
{
	struct log_last last = { 0 };
	char text[400];

	assert_true(log_is_news(&last, "a", 60000));
	assert_false(log_is_news(&last, "a", 60000));
	assert_true(log_is_news(&last, "b", 60000));
	assert_true(log_is_news(&last, "a", 1));
	clock_sleep_ms(2);
	assert_true(log_is_news(&last, "a", 1));
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_true(log_is_news(&last, text, 60000));
	assert_false(log_is_news(&last, text, 60000));
	assert_true(log_is_news(&last, "", 60000));
}

static void *kill_soon(void *thread)
{
	clock_sleep_ms(20);
	pthread_kill(*(pthread_t *)thread, SIGTERM);
	return NULL;
}

TEST(signal_requests_a_stop)
{
	struct error err = { 0 };
	pthread_t self = pthread_self(), killer;

	assert_false(stop_requested());
	assert_int_equal(stop_setup(&err), 0);
	assert_false(stop_wait(1));
	assert_int_equal(pthread_create(&killer, NULL, kill_soon, &self), 0);
	assert_true(stop_wait(-1));
	pthread_join(killer, NULL);
	assert_int_equal(stop_signal(), SIGTERM);
	assert_int_equal(stop_count(), 1);
	assert_true(stop_fd() >= 0);
	stop_request();
	assert_int_equal(stop_count(), 2);
	assert_true(stop_wait(1000000));
}

RUN_TESTS(NULL, NULL)
