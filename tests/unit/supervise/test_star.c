/* What a flood of connections does to the supervisor of rank 0: nothing to the others. */
#include "supervise/star.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/sock.h"
#include "net/preauth.h"
#include "tests/unit/base/base_test.h"

enum { FLOOD = 240 /* one backlog has them all */, MAX_FD = 1024 };

struct scene {
	struct star_conf conf;
	struct supervise_rules rules;
	struct star *hub;
	int fds[FLOOD], n;
	struct buf said;
};

static void say(void *ctx, const char *text)
{
	struct scene *s = ctx;

	buf_adds(&s->said, text);
}

static struct sockaddr_in address(const char *host, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port) };

	assert_int_equal(inet_pton(AF_INET, host, &a.sin_addr), 1);
	return a;
}

static void begin(struct scene *s)
{
	struct error err = { 0 };
	int fd;

	*s = (struct scene){ .said.max = 1 << 20 };
	assert_int_equal(sock_listen(&fd, NULL, 0, &err), 0);
	s->conf = (struct star_conf){ .ranks = 2,
				      .port = sock_port(fd),
				      .rules = &s->rules,
				      .say = say,
				      .ctx = s };
	close(fd);
	assert_int_equal(star_open(&s->hub, &s->conf, &err), 0);
}

static void dial_from(struct scene *s, const char *host)
{
	struct sockaddr_in from = address(host, 0),
			   to = address("127.0.0.1", s->conf.port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	s->fds[s->n++] = fd;
}

static void step(struct scene *s)
{
	struct error err = { 0 };

	assert_int_equal(star_step(s->hub, &err), 0);
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < MAX_FD; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void end(struct scene *s)
{
	star_leave(s->hub);
	while (s->n)
		close(s->fds[--s->n]);
	buf_release(&s->said);
}

/* However many wait, the ranks are heard in between. */
TEST(test_a_turn_accepts_a_few)
{
	static struct scene s; /* a hub ends with the process */
	int before;

	begin(&s);
	while (s.n < FLOOD)
		dial_from(&s, "127.0.0.2");
	before = open_fds();
	step(&s);
	assert_int_equal(open_fds() - before, PREAUTH_ACCEPT_BATCH);
	end(&s);
}

TEST(test_a_flood_ends_its_own)
{
	static struct scene s; /* a hub ends with the process */

	begin(&s);
	dial_from(&s, "127.0.0.1");
	while (s.n < FLOOD)
		dial_from(&s, "127.0.0.2");
	for (int i = 0; i < FLOOD; i += PREAUTH_ACCEPT_BATCH)
		step(&s);
	buf_adds(&s.said, "");
	assert_non_null(
		strstr((char *)s.said.data, "from 127.0.0.2: too many connections"));
	assert_null(strstr((char *)s.said.data, "127.0.0.1"));
	end(&s);
}

RUN_TESTS(NULL, NULL)
