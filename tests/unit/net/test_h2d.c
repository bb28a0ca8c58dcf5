/* The server of HTTP/2 over TLS: requests that wait for a verdict, and peers that break it. */
#include "net/h2d.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "crypto/tls.h"
#include "crypto/x509.h"
#include "net/grpc_client.h"
#include "tests/unit/base/base_test.h"

enum { REPLY = 3 << 20, MANY = 40 };

struct server {
	struct x509_pair ca;
	struct tls_server *tls;
	struct grpc_conf grpc;
	struct h2d *d;
	char origin[64];
	atomic_int asked, admitted, broken;
};

static void reply(void *ctx, struct grpc_call *call)
{
	uint8_t *data = malloc(REPLY);

	for (size_t i = 0; i < REPLY; i++)
		data[i] = (uint8_t)(i * 2654435761u >> 24);
	grpc_send(call, data, REPLY);
	free(data);
}

static const struct grpc_method methods[] = { { .path = "/t.T/M", .run = reply }, { 0 } };

static enum grpc_verdict admit(void *ctx, struct grpc_call *call)
{
	struct server *s = ctx;

	assert_string_equal(grpc_peer(call), "127.0.0.1");
	atomic_fetch_add(&s->asked, 1);
	return atomic_load(&s->admitted) ? GRPC_ADMITTED : GRPC_LATER;
}

static void on_broken(void *ctx, const struct error *err)
{
	struct server *s = ctx;

	assert_true(err->msg[0]);
	atomic_fetch_add(&s->broken, 1);
}

static char want_tls[] = "want TLS";

static void start(struct server *s, int64_t handshake_ms, int max_handshakes)
{
	static const char *const alpn[] = { "h2", NULL };
	const struct tls_conf tls = { .alpn = alpn };
	cleanup_x509_pair struct x509_pair pair = { 0 };
	const int64_t now = clock_now();
	struct error err = { 0 };
	struct h2d_conf conf = {
		.host = "127.0.0.1",
		.threads = max_handshakes ? 1 : 0, /* each has a part of these */
		.h2 = grpc_h2(&s->grpc, 1 << 20),
		.plain = grpc_h2_unavailable(want_tls),
		.handshake_ms = handshake_ms,
		.max_handshakes = max_handshakes,
		.on_broken = on_broken,
		.ctx = s,
	};

	memset(s, 0, sizeof(*s));
	assert_int_equal(x509_new_p256_ca(&s->ca, "ca", "t", now, now + 3600, &err), 0);
	assert_int_equal(
		x509_new_server(&pair, &s->ca, "localhost", now, now + 3600, &err), 0);
	assert_int_equal(tls_server_new(&s->tls, &tls, &err), 0);
	assert_int_equal(tls_server_identity(s->tls, pair.cert_pem, pair.key_pem, &err),
			 0);
	s->grpc =
		(struct grpc_conf){ .methods = methods, .admit = admit, .admit_ctx = s };
	s->admitted = 1;
	conf.tls = s->tls;
	assert_int_equal(h2d_start(&s->d, &conf, &err), 0);
	snprintf(s->origin, sizeof(s->origin), "https://127.0.0.1:%d", h2d_port(s->d));
}

static void stop(struct server *s)
{
	h2d_stop(s->d, 0);
	tls_server_free(s->tls);
	x509_pair_release(&s->ca);
}

static int on_message(void *ctx, const void *data, size_t len, struct error *err)
{
	const uint8_t *bytes = data;
	int *n = ctx;

	assert_int_equal(len, REPLY);
	for (size_t i = 0; i < len; i++)
		if (bytes[i] != (uint8_t)(i * 2654435761u >> 24))
			fail_msg("byte %zu is another one", i);
	++*n;
	return 0;
}

static int request(struct server *s, const char *origin, struct error *err)
{
	const struct http_conf conf = { .h2c = true,
					.proxy = "",
					.ca_pem = s->ca.cert_pem,
					.server_name = "localhost" };
	int n = 0;
	const struct grpc_request req = { .origin = origin,
					  .path = "/t.T/M",
					  .on_message = on_message,
					  .ctx = &n,
					  .max_message = REPLY };
	struct http_client *client;
	int rc;

	assert_int_equal(http_client_new(&client, &conf, err), 0);
	rc = grpc_request(client, &req, err);
	http_client_free(client);
	if (!rc)
		assert_int_equal(n, 1);
	return rc;
}

TEST(test_tls)
{
	struct error err = { 0 };
	struct server s;

	start(&s, 0, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(request(&s, s.origin, &err), 0);
	assert_int_equal(s.broken, 0);
	stop(&s);
}

TEST(test_plain)
{
	char origin[sizeof(((struct server *)0)->origin)];
	struct error err = { 0 };
	struct server s;

	start(&s, 0, 0);
	snprintf(origin, sizeof(origin), "http://%s", strstr(s.origin, "//") + 2);
	assert_int_equal(request(&s, origin, &err), -1);
	assert_int_equal(err.code, GRPC_UNAVAILABLE);
	assert_string_equal(err.msg, "want TLS");
	assert_int_equal(s.asked, 0);
	assert_int_equal(s.broken, 1);
	stop(&s);
}

static void *request_later(void *ctx)
{
	struct server *s = ctx;
	struct error err = { 0 };

	return request(s, s->origin, &err) ? s : NULL;
}

TEST(test_later)
{
	struct server s;
	pthread_t thread;
	void *failed;

	start(&s, 0, 0);
	s.admitted = 0;
	assert_int_equal(pthread_create(&thread, NULL, request_later, &s), 0);
	while (!atomic_load(&s.asked))
		clock_sleep_ms(1);
	h2d_resume(s.d); /* too early: it waits on */
	while (atomic_load(&s.asked) < 2)
		clock_sleep_ms(1);
	atomic_store(&s.admitted, 1);
	h2d_resume(s.d);
	pthread_join(thread, &failed);
	assert_null(failed);
	assert_int_equal(s.asked, 3);
	stop(&s);
}

/* From 127.0.0.`host`. */
static int dial_from(const struct server *s, uint32_t host)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)h2d_port(s->d)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in from = { .sin_family = AF_INET,
				    .sin_addr.s_addr =
					    htonl(INADDR_LOOPBACK - 1 + host) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static int dial(const struct server *s)
{
	return dial_from(s, 1);
}

/* Until the server has closed it. */
static void wait_end(int fd)
{
	char unused[4096];

	while (recv(fd, unused, sizeof(unused), 0) > 0)
		;
	close(fd);
}

TEST(test_garbage)
{
	static const struct {
		const char *data;
		size_t len;
	} rows[] = {
		{ "\x16\x03\x01\xff\xff\x01", 6 },
		{ "\x16\x03\x01\x00\x04\x01\x00\x00\x00", 9 },
		{ "\x16\x03\x01\x00\x05\x02\xff\xff\xff\xff", 10 },
		{ "\x15\x03\x03\x00\x02\x02\x28", 7 },
		{ "GET / HTTP/1.1\r\n\r\n", 18 },
		{ "\0\0\0\0\0\0\0\0\0\0", 10 },
		{ "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", 24 },
		{ "PUT / HTTP/1.1\r\nHost: a\r\n\r\n", 27 },
	};
	struct error err = { 0 };
	struct server s;

	start(&s, 0, 0);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		int fd = dial(&s);

		assert_int_equal(send(fd, rows[i].data, rows[i].len, MSG_NOSIGNAL),
				 rows[i].len);
		shutdown(fd, SHUT_WR);
		wait_end(fd);
	}
	assert_int_equal(request(&s, s.origin, &err), 0);
	stop(&s);
}

/* Of too many the oldest ones are closed; the deadline ends the others. */
TEST(test_half_open)
{
	struct error err = { 0 };
	struct server s;
	int fds[MANY];

	start(&s, 3600 * 1000, 8);
	for (int i = 0; i < MANY; i++) {
		fds[i] = dial(&s);
		assert_int_equal(send(fds[i], "\x16\x03\x01", 3, MSG_NOSIGNAL), 3);
	}
	for (int i = 0; i < MANY / 4; i++)
		wait_end(fds[i]);
	assert_int_equal(request(&s, s.origin, &err), 0);
	for (int i = MANY / 4; i < MANY; i++)
		close(fds[i]);
	stop(&s);

	start(&s, 20, 0);
	fds[0] = dial(&s);
	fds[1] = dial(&s);
	assert_int_equal(send(fds[1], "\x16\x03\x01", 3, MSG_NOSIGNAL), 3);
	wait_end(fds[0]);
	wait_end(fds[1]);
	assert_int_equal(s.broken, 2);
	stop(&s);
}

/* A flood of handshakes ends its own, not an older one of another address. */
TEST(test_half_open_of_two_addresses)
{
	struct server s;
	int other, fds[MANY];

	start(&s, 3600 * 1000, 8);
	other = dial_from(&s, 1);
	for (int i = 0; i < MANY; i++)
		fds[i] = dial_from(&s, 2);
	for (int i = 0; i < MANY - 8; i++)
		wait_end(fds[i]);
	assert_int_equal(recv(other, &(char){ 0 }, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	for (int i = MANY - 8; i < MANY; i++)
		close(fds[i]);
	close(other);
	stop(&s);
}

/* The deadline ends the one whose it is, not those of the address with the most. */
TEST(test_half_open_until_the_deadline)
{
	struct server s;
	int64_t begun;
	int other, fds[3];

	start(&s, 2000, 8);
	other = dial_from(&s, 1);
	clock_sleep_ms(1000);
	begun = clock_ms();
	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		fds[i] = dial_from(&s, 2);
	wait_end(other);
	for (size_t i = 0; i < N_ELEMENTS(fds); i++) {
		ssize_t n = recv(fds[i], &(char){ 0 }, 1, MSG_DONTWAIT);

		assert_true((n < 0 && errno == EAGAIN) || clock_ms() - begun >= 2000);
		close(fds[i]);
	}
	stop(&s);
}

/* ---- without TLS ------------------------------------------------------------------- */

enum { HEADERS = 1, END_HEADERS = 4, PER_PEER = 8 };
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
/* The headers of a gRPC request, without HPACK's tables. */
#define REQUEST                                                                \
	"\0\7:method\4POST\0\7:scheme\4http\0\12:authority\1h\0\5:path\6/t.T/" \
	"M\0\14content-type\20"                                                \
	"application/grpc"

static void start_plain(struct server *s, struct h2d_conf conf)
{
	struct error err = { 0 };

	memset(s, 0, sizeof(*s));
	s->grpc = (struct grpc_conf){ .methods = methods };
	conf.host = "127.0.0.1";
	conf.h2 = grpc_h2(&s->grpc, 1 << 20);
	assert_int_equal(h2d_start(&s->d, &conf, &err), 0);
	snprintf(s->origin, sizeof(s->origin), "http://127.0.0.1:%d", h2d_port(s->d));
}

static void say(int fd, const char *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

static void say_request(int fd)
{
	const size_t len = sizeof(REQUEST) - 1;
	const char head[] = { 0, 0, (char)len, HEADERS, END_HEADERS, 0, 0, 0, 1 };

	say(fd, PREFACE, sizeof(PREFACE) - 1);
	say(fd, head, sizeof(head));
	say(fd, REQUEST, len);
}

/* Whoever does not finish a request, or sends none, is closed, also if it sends PINGs. */
TEST(test_deadlines)
{
	const char ping[] = "\0\0\10\6\0\0\0\0\00012345678";
	struct error err = { 0 };
	struct server s;
	int silent, preface, half, pings;

	start_plain(&s, (struct h2d_conf){ .request_ms = 40, .idle_ms = 40 });
	silent = dial(&s);
	preface = dial(&s);
	say(preface, PREFACE, sizeof(PREFACE) - 1);
	half = dial(&s);
	say_request(half);
	wait_end(silent);
	wait_end(preface);
	wait_end(half);
	pings = dial(&s);
	say(pings, PREFACE, sizeof(PREFACE) - 1);
	while (send(pings, ping, sizeof(ping) - 1, MSG_NOSIGNAL) > 0)
		clock_sleep_ms(1);
	close(pings);
	assert_int_equal(request(&s, s.origin, &err), 0);
	stop(&s);
}

static bool is_open(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK) > 0;
}

/* An address with too many requests gets no more; another one does. */
TEST(test_peers)
{
	struct sockaddr_in other = { .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1) };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct server s;
	int fds[PER_PEER], fd;

	start_plain(&s, (struct h2d_conf){ .max_per_peer = PER_PEER, .threads = 3 });
	for (int i = 0; i < PER_PEER; i++) {
		fds[i] = dial(&s);
		say_request(fds[i]);
		assert_true(is_open(fds[i])); /* its SETTINGS */
	}
	fd = dial(&s);
	wait_end(fd);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	to.sin_port = htons((uint16_t)h2d_port(s.d));
	assert_int_equal(bind(fd, (struct sockaddr *)&other, sizeof(other)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_true(is_open(fd));
	close(fd);
	for (int i = 0; i < PER_PEER; i++)
		close(fds[i]);
	stop(&s);
}

RUN_TESTS(NULL, NULL)
