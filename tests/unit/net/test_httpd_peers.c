#include "tests/unit/net/client.h"

#include <sys/resource.h>

/* ---- time --------------------------------------------------------------------------- */

/* A byte now and then does not keep a request alive, whatever part of it they are. */
TEST(test_slow_request)
{
	static const char *const begin[] = {
		"",
		"GET / HTTP/1.1\r\n" H "X: ",
		"POST / HTTP/1.1\r\n" H "Content-Length: 10000\r\n\r\n",
		CHUNKED "fff\r\n",
		CHUNKED "1;",
	};
	struct world w = { 0 };

	world_start(&w, (struct httpd_conf){ .request_ms = 300 });
	for (size_t i = 0; i < N_ELEMENTS(begin); i++) {
		cleanup_buf struct buf out = { .max = 65536 };
		int fd = client_connect(w.port, NULL);
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t until = clock_ms() + PATIENCE_MS;

		client_say(fd, begin[i]);
		while (poll(&p, 1, 20) == 0 && client_say(fd, "a"))
			assert_true(clock_ms() < until);
		client_read_all(fd, &out);
		assert_true(!out.len ||
			    str_starts((char *)out.data, "HTTP/1.1 408 Request Timeout"));
		close(fd);
	}
	assert_int_equal(w.handled, 0);
	world_stop(&w);
}

TEST(idle_connections_are_closed)
{
	cleanup_buf struct buf out = { .max = 65536 };
	struct world w = { 0 };
	int fd;

	world_start(&w, (struct httpd_conf){ .idle_ms = 200 });
	fd = client_connect(w.port, NULL);
	assert_true(client_is_cut(fd));
	close(fd);
	/* Once more where this thread came to ask only after that time. */
	while (!w.handled) {
		buf_clear(&out);
		fd = client_connect(w.port, NULL);
		client_say(fd, "GET / HTTP/1.1\r\n" H "\r\n");
		client_read_all(fd, &out);
		close(fd);
	}
	assert_non_null(strstr((char *)out.data, "none>"));
	world_stop(&w);
}

/* ---- many --------------------------------------------------------------------------- */

static void request_on(int fd)
{
	cleanup_buf struct buf out = { .max = 65536 };

	assert_true(client_say(fd, "GET / HTTP/1.1\r\n" H "\r\n"));
	client_read_until(fd, &out, "none>");
}

/* Have the server accept so many, in this order; the last one is heard of. */
static void connect_all(int port, int n, int *ret_fds, const char *source)
{
	for (int i = 0; i < n; i++)
		ret_fds[i] = client_connect(port, i ? source : NULL);
	request_on(ret_fds[n - 1]);
}

/* The server has closed it as well, and knows that a place is free. */
static void leave(int fd)
{
	shutdown(fd, SHUT_WR);
	assert_true(client_is_cut(fd));
	close(fd);
}

static void makes_room(int max_per_peer)
{
	enum { PLACES = 5 };
	struct world w = { 0 };
	int fds[PLACES], late;

	world_start(&w, (struct httpd_conf){ .max_connections = PLACES,
					     .max_per_peer = max_per_peer });
	connect_all(w.port, PLACES, fds, NULL);
	clock_sleep_ms(10);
	/* The first has been waiting longest until it is heard of again; then it is the
	 * second, though it has begun a request. */
	request_on(fds[0]);
	client_say(fds[1], "GET / HTTP/1.1\r\n");
	late = client_connect(w.port, NULL);
	request_on(late);
	assert_true(client_is_cut(fds[1]));
	request_on(fds[0]);
	for (int i = 2; i < PLACES; i++)
		request_on(fds[i]);
	for (int i = 0; i < PLACES; i++)
		close(fds[i]);
	close(late);
	world_stop(&w);
}

TEST(test_makes_room)
{
	makes_room(0);
	makes_room(5); /* where all peers have one address */
}

/* Who has many connections loses one, not who has waited longest. */
TEST(test_makes_room_fairly)
{
	enum { PLACES = 5 };
	struct world w = { 0 };
	int fds[PLACES], late;

	world_start(&w, (struct httpd_conf){ .max_connections = PLACES });
	connect_all(w.port, PLACES, fds, "127.0.0.2");
	for (int i = 1; i < 3; i++) {
		late = client_connect(w.port, "127.0.0.3");
		request_on(late);
		assert_true(client_is_cut(fds[i]));
		leave(late);
		late = client_connect(w.port, "127.0.0.3");
		request_on(late);
		close(fds[i]);
		fds[i] = late;
	}
	request_on(fds[0]);
	for (int i = 0; i < PLACES; i++)
		close(fds[i]);
	world_stop(&w);
}

static void wait_inside(struct world *w, int n)
{
	int64_t until = clock_ms() + PATIENCE_MS;

	while (w->inside != n) {
		assert_true(clock_ms() < until);
		clock_sleep_ms(2);
	}
}

#define LARGE_LENGTH "POST /wait HTTP/1.1\r\n" H "Content-Length: 2097152\r\n\r\n"
#define LARGE_CHUNK \
	"POST /wait HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n200000\r\n"

/* Large bodies have a common limit; what is small passes whatever the others do. */
TEST(test_bodies_together)
{
	enum { LARGE = 2 * 1024 * 1024, FIT = 12 }; /* (4 * 2 + 16) MiB of it */
	cleanup_free char *piece = calloc(1, LARGE);
	cleanup_buf struct buf out = { .max = 65536 };
	struct world w = { .hold = true };
	int fds[FIT], late;

	world_start(&w, (struct httpd_conf){ .max_body = LARGE });
	for (int i = 0; i < FIT; i++) {
		fds[i] = client_connect(w.port, NULL);
		client_say(fds[i], i % 2 ? LARGE_LENGTH : LARGE_CHUNK);
		client_send(fds[i], piece, LARGE);
		client_say(fds[i], i % 2 ? "" : "\r\n0\r\n\r\n");
	}
	wait_inside(&w, FIT);
	for (int i = 0; i < 2; i++) {
		late = client_connect(w.port, NULL);
		client_say(late, i ? LARGE_LENGTH : LARGE_CHUNK);
		client_send(late, piece, LARGE);
		buf_clear(&out);
		client_read_all(late, &out);
		assert_true(str_starts((char *)out.data, "HTTP/1.1 503 "));
		close(late);
	}
	expect_answer(&w, "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc",
		      "<POST /  3 127.0.0.1 none>abc");
	w.hold = false;
	for (int i = 0; i < FIT; i++)
		client_read_until(fds[i], &out, "none>");
	late = client_connect(w.port, NULL);
	client_say(late, LARGE_LENGTH);
	client_send(late, piece, LARGE);
	client_read_until(late, &out, "none>");
	for (int i = 0; i < FIT; i++)
		close(fds[i]);
	close(late);
	world_stop(&w);
}

/* Nobody who is being served makes room. */
TEST(test_all_busy)
{
	enum { PLACES = 3 };
	cleanup_buf struct buf out = { .max = 65536 };
	struct world w = { .hold = true };
	int fds[PLACES], late;

	world_start(&w, (struct httpd_conf){ .max_connections = PLACES });
	for (int i = 0; i < PLACES; i++) {
		fds[i] = client_connect(w.port, NULL);
		client_say(fds[i], "GET /wait HTTP/1.1\r\n" H "\r\n");
	}
	wait_inside(&w, PLACES);
	late = client_connect(w.port, NULL);
	assert_true(client_is_cut(late));
	close(late);
	w.hold = false;
	for (int i = 0; i < PLACES; i++) {
		client_read_until(fds[i], &out, "none>");
		close(fds[i]);
	}
	world_stop(&w);
}

TEST(test_per_peer)
{
	struct world w = { 0 };
	int fds[3], other, late;

	world_start(&w, (struct httpd_conf){ .max_per_peer = 3 });
	for (int i = 0; i < 3; i++) {
		fds[i] = client_connect(w.port, NULL);
		request_on(fds[i]);
		usleep(100000); /* its thread is idle before the next one's */
	}
	other = client_connect(w.port, "127.0.0.2");
	request_on(other);
	/* Of its own, the one that has waited longest makes room: a probe from the address
	 * of a flood is answered, and a flood takes nobody else's place. */
	late = client_connect(w.port, NULL);
	request_on(late);
	assert_true(client_is_cut(fds[0]));
	request_on(other);
	for (int i = 1; i < 3; i++)
		request_on(fds[i]);
	/* Nobody makes room for it while all of its own are being served. */
	w.hold = true;
	leave(late);
	for (int i = 1; i < 3; i++)
		client_say(fds[i], "GET /wait HTTP/1.1\r\n" H "\r\n");
	close(fds[0]);
	fds[0] = client_connect(w.port, NULL);
	client_say(fds[0], "GET /wait HTTP/1.1\r\n" H "\r\n");
	wait_inside(&w, 3);
	late = client_connect(w.port, NULL);
	assert_true(client_is_cut(late));
	close(late);
	request_on(other);
	w.hold = false;
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	close(other);
	world_stop(&w);
}

static void *peer_main(void *ctx)
{
	struct world *w = ctx;

	for (int i = 0; i < 25; i++) {
		int fd = client_connect(w->port, NULL);

		for (int j = 0; j < 4; j++)
			request_on(fd);
		close(fd);
	}
	return NULL;
}

TEST(many_concurrent_peers)
{
	enum { PEERS = 16 };
	struct world w = { 0 };
	pthread_t threads[PEERS];

	world_start(&w, (struct httpd_conf){ 0 });
	for (int i = 0; i < PEERS; i++)
		pthread_create(&threads[i], NULL, peer_main, &w);
	for (int i = 0; i < PEERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(w.handled, PEERS * 100);
	world_stop(&w);
}

/* ---- peers that go away --------------------------------------------------------------- */

static void reset_connection(int fd)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

TEST(test_reset)
{
	static const char *const rows[] = {
		"",
		"GET / HTTP/1.1\r\n",
		"GET / HTTP/1.1\r\n" H "\r\n",
		"POST / HTTP/1.1\r\n" H "Content-Length: 100\r\n\r\nabc",
		"GET /big HTTP/1.1\r\n" H "\r\n",
		"GET /big HTTP/1.1\r\n" H "\r\nGET /big HTTP/1.1\r\n" H "\r\n",
		"nonsense\r\n\r\n",
	};
	struct world w = { 0 };
	int fd;

	world_start(&w, (struct httpd_conf){ 0 });
	for (int i = 0; i < 70; i++) {
		fd = client_connect(w.port, NULL);
		client_say(fd, rows[i % 7]);
		if (i % 2)
			clock_sleep_ms(2);
		reset_connection(fd);
	}
	fd = client_connect(w.port, NULL);
	request_on(fd);
	close(fd);
	world_stop(&w);
}

/* Asks, and reads what there is after that time: the server gives up after a second. */
static void ask_and_wait(struct buf *out, int64_t ms)
{
	struct world w = { 0 };
	int fd;

	world_start(&w, (struct httpd_conf){ .request_ms = 1000 });
	fd = client_connect(w.port, NULL);
	client_say(fd, "GET /big HTTP/1.1\r\n" H "\r\n");
	clock_sleep_ms(ms);
	buf_clear(out);
	client_read_all(fd, out);
	close(fd);
	world_stop(&w);
}

/* An answer of 8 MB arrives whole; one that nobody reads is given up, be it late. */
TEST(test_big_answer)
{
	cleanup_buf struct buf out = { .max = 16 * 1024 * 1024 };
	struct world w = { 0 };
	int fd;

	world_start(&w, (struct httpd_conf){ .request_ms = PATIENCE_MS });
	fd = client_connect(w.port, NULL);
	client_say(fd, "GET /big HTTP/1.1\r\n" H "Connection: close\r\n\r\n");
	client_read_all(fd, &out);
	assert_non_null(strstr((char *)out.data, "Content-Length: 8388480\r\n"));
	assert_int_equal(out.len - (size_t)(strstr((char *)out.data, "\r\n\r\n") -
					    (char *)out.data),
			 8388480 + 4);
	close(fd);
	world_stop(&w);
	for (int64_t ms = 1500; ms; ms = out.len < 8388480 ? 0 : 2 * ms)
		ask_and_wait(&out, ms);
}

/* Without descriptors it waits, spending nothing, and goes on when there are some. */
TEST(test_no_descriptors)
{
	struct rlimit before, few;
	struct rusage at, then;
	struct world w = { 0 };
	int fds[8], low;
	double spent;

	world_start(&w, (struct httpd_conf){ 0 });
	getrlimit(RLIMIT_NOFILE, &before);
	for (int i = 0; i < 8; i++)
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	low = dup(0);
	close(low);
	few = (struct rlimit){ (rlim_t)low, before.rlim_max };
	setrlimit(RLIMIT_NOFILE, &few);
	for (int i = 0; i < 8; i++) {
		struct sockaddr_in to = { .sin_family = AF_INET,
					  .sin_port = htons((uint16_t)w.port) };

		inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
		assert_int_equal(connect(fds[i], (const void *)&to, sizeof(to)), 0);
	}
	getrusage(RUSAGE_SELF, &at);
	clock_sleep_ms(1000);
	getrusage(RUSAGE_SELF, &then);
	setrlimit(RLIMIT_NOFILE, &before);
	spent = (double)(then.ru_utime.tv_sec - at.ru_utime.tv_sec) +
		(double)(then.ru_stime.tv_sec - at.ru_stime.tv_sec) +
		(double)(then.ru_utime.tv_usec - at.ru_utime.tv_usec) / 1e6 +
		(double)(then.ru_stime.tv_usec - at.ru_stime.tv_usec) / 1e6;
	assert_true(spent < 0.5); /* of the second: it does not spin */
	for (int i = 0; i < 8; i++) {
		request_on(fds[i]);
		close(fds[i]);
	}
	world_stop(&w);
}

/* ---- the end -------------------------------------------------------------------------- */

static void *stop_main(void *ctx)
{
	struct world *w = ctx;

	httpd_stop(w->d, PATIENCE_MS);
	return NULL;
}

TEST(test_stop_with_grace)
{
	cleanup_buf struct buf out = { .max = 65536 };
	struct world w = { .hold = true };
	int idle, busy, half;
	pthread_t stopper;

	world_start(&w, (struct httpd_conf){ 0 });
	idle = client_connect(w.port, NULL);
	request_on(idle);
	busy = client_connect(w.port, NULL);
	client_say(busy, "GET /wait HTTP/1.1\r\n" H "\r\n");
	half = client_connect(w.port, NULL);
	client_say(half, "POST /half HTTP/1.1\r\n" H
			 "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n");
	client_read_until(half, &out, "100 Continue\r\n\r\n");
	wait_inside(&w, 1);
	pthread_create(&stopper, NULL, stop_main, &w);
	assert_true(client_is_cut(idle));
	client_say(half, "abc");
	client_read_all(half, &out);
	assert_non_null(strstr((char *)out.data, "Connection: close\r\n"));
	assert_non_null(strstr((char *)out.data, "<POST /half"));
	w.hold = false;
	buf_clear(&out);
	client_read_all(busy, &out);
	assert_non_null(strstr((char *)out.data, "Connection: close\r\n"));
	assert_non_null(strstr((char *)out.data, "<GET /wait"));
	close(idle);
	close(busy);
	close(half);
	pthread_join(stopper, NULL);
}

/* What does not come to its end in time is cut off; a handler is waited for. */
TEST(test_stop_without_grace)
{
	struct world w = { 0 };
	int fds[20];

	world_start(&w, (struct httpd_conf){ 0 });
	for (int i = 0; i < 20; i++) {
		fds[i] = client_connect(w.port, NULL);
		client_say(fds[i], i % 3 ? "GET / HTTP/1.1\r\n"
					 : "GET /big HTTP/1.1\r\n" H "\r\n");
	}
	world_stop(&w);
	for (int i = 0; i < 20; i++)
		close(fds[i]);
	httpd_stop(NULL, 0);
}

TEST(test_addresses)
{
	struct httpd_conf conf = { .handle = world_tell, .host = "no.such.host.invalid" };
	struct world w = { 0 };
	struct error err = { 0 };
	struct httpd *d = NULL;
	int fd;

	assert_int_equal(httpd_start(&d, &conf, &err), -1);
	assert_null(d);
	/* All addresses, and IPv4 as such. */
	world_start(&w, (struct httpd_conf){ .host = "" });
	expect_answer(&w, "GET / HTTP/1.1\r\n" H "\r\n", "<GET /  0 127.0.0.1 none>");
	/* Taken. */
	conf.host = "";
	conf.port = w.port;
	assert_int_equal(httpd_start(&d, &conf, &err), -1);
	assert_non_null(strstr(err.msg, "listen on :"));
	conf.host = "::1";
	assert_int_equal(httpd_start(&d, &conf, &err), -1);
	assert_non_null(strstr(err.msg, "listen on [::1]:"));
	world_stop(&w);
	world_start(&w, (struct httpd_conf){ .host = "localhost" });
	fd = client_connect(w.port, NULL);
	request_on(fd);
	close(fd);
	world_stop(&w);
}

RUN_TESTS(NULL, NULL)
