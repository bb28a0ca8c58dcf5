/* Two ends of a measured connection: what they count, and who is no end of it. */
#include "nodecheck/pair.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/sock.h"
#include "net/dial.h"
#include "tests/unit/base/base_test.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define OTHER "0123456789abcdef0123456789abcdee"

enum { LONG_MS = 60 * 1000, SHORT_MS = 300 };

struct server {
	pthread_t thread;
	int listener, port, rc;
	int64_t deadline;
	struct pair_result result;
	struct error err;
};

static void *serve(void *ctx)
{
	struct server *s = ctx;

	s->rc = pair_serve(&s->result, s->listener, TOKEN, s->deadline, &s->err);
	return NULL;
}

static void begin(struct server *s, int64_t ms)
{
	struct error err = { 0 };

	*s = (struct server){ .deadline = clock_ms() + ms };
	assert_int_equal(sock_listen(&s->listener, "127.0.0.1", 0, &err), 0);
	s->port = sock_port(s->listener);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void end(struct server *s)
{
	pthread_join(s->thread, NULL);
	close(s->listener);
}

/* A connection that sends this and is closed by the other end, or closes itself. */
static void stranger(const struct server *s, const char *text, size_t len, bool leaves)
{
	enum dial_stage stage;
	struct error err = { 0 };
	char byte;
	size_t n;
	int fd;

	assert_int_equal(
		dial(&fd, "127.0.0.1", s->port, clock_ms() + LONG_MS, &stage, &err), 0);
	assert_int_equal(sock_write(fd, text, len, clock_ms() + LONG_MS, &err), 0);
	if (!leaves && !sock_read(fd, &byte, 1, &n, clock_ms() + LONG_MS, &err))
		assert_int_equal(n, 0);
	close(fd);
}

TEST(test_both_ends_measure_and_strangers_are_closed)
{
	struct pair_result r;
	struct server s;
	struct error err = { 0 };

	begin(&s, LONG_MS);
	stranger(&s, OTHER, PAIR_TOKEN, false);
	stranger(&s, "GET /", 5, true);
	if (pair_connect(&r, "127.0.0.1", s.port, TOKEN, clock_ms() + LONG_MS, &err))
		fail_msg("%s", err.msg);
	end(&s);
	assert_int_equal(s.rc, 0);
	assert_true(r.rate > 0 && s.result.rate > 0);
	assert_true(r.rtt_us > 0);
	assert_int_equal(s.result.rtt_us, 0); /* only the end that asks */
	assert_true(r.sent > 0 && s.result.sent > 0);
}

/* Silent ones, and more than are waited for. */
TEST(test_strangers_delay_nobody)
{
	enum { MANY = 200, EACH = 8 };
	int fds[MANY];
	struct pair_result r;
	struct server s;
	struct error err = { 0 };

	for (int n = EACH; n <= MANY; n += MANY - EACH) {
		enum dial_stage stage;

		begin(&s, PAIR_MS);
		for (int i = 0; i < n; i++) {
			assert_int_equal(dial(&fds[i], "127.0.0.1", s.port,
					      clock_ms() + LONG_MS, &stage, &err),
					 0);
			assert_int_equal(sock_write(fds[i], TOKEN, i % 2,
						    clock_ms() + LONG_MS, &err),
					 0);
		}
		if (pair_connect(&r, "127.0.0.1", s.port, TOKEN, clock_ms() + LONG_MS,
				 &err))
			fail_msg("%d strangers: %s", n, err.msg);
		end(&s);
		if (s.rc)
			fail_msg("%d strangers: %s", n, s.err.msg);
		for (int i = 0; i < n; i++)
			close(fds[i]);
	}
}

TEST(test_an_end_that_leaves)
{
	struct server s;

	begin(&s, LONG_MS);
	stranger(&s, TOKEN, PAIR_TOKEN, true);
	end(&s);
	assert_int_equal(s.rc, -1);
	assert_string_equal(s.err.msg, "the other end closed");
}

TEST(test_nobody_comes)
{
	struct pair_result r;
	struct server s;
	struct error err = { 0 };

	begin(&s, SHORT_MS);
	end(&s);
	assert_int_equal(s.rc, -1);
	assert_int_equal(s.err.kind, ERR_TIMEOUT);
	assert_int_equal(
		pair_connect(&r, "127.0.0.1", s.port, TOKEN, clock_ms() + SHORT_MS, &err),
		-1);
	assert_int_equal(r.rate + r.rtt_us + r.sent + r.lost, 0);
}

RUN_TESTS(NULL, NULL)
