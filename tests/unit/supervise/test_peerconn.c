/* The end of a connection between two supervisors, over TCP in one thread. */
#include "supervise/peerconn.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/base/base_test.h"

struct ends {
	struct psk *psk[2];
	struct peerconn *line[2]; /* of a peer, of the hub */
};

static int take(void *ctx, struct peerconn *l, const struct message *m, struct error *err)
{
	return 0;
}

static void step(struct peerconn *l)
{
	bool opened;

	peerconn_step(l, take, NULL, &opened, 0);
}

static void begin(struct ends *e)
{
	const unsigned char key[PSK_KEY_SIZE] = "a key";
	char peer[SOCK_ADDRESS_SIZE];
	struct error err = { 0 };
	struct sockaddr_in a = { .sin_family = AF_INET };
	int listener, fds[2];

	assert_int_equal(sock_listen(&listener, "127.0.0.1", 0, &err), 0);
	a.sin_port = htons((uint16_t)sock_port(listener));
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fds[0], (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	while ((fds[1] = sock_accept(listener, peer)) < 0)
		;
	close(listener);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(psk_new(&e->psk[i], (enum psk_side)i, key, "test", &err),
				 0);
		e->line[i] = peerconn_new(e->psk[i], fds[i], "", 0);
	}
	while (!e->line[0]->open || !e->line[1]->open)
		for (int i = 0; i < 2; i++)
			step(e->line[i]);
}

static void end(struct ends *e)
{
	for (int i = 0; i < 2; i++) {
		peerconn_free(e->line[i]);
		psk_free(e->psk[i]);
	}
}

/* With a beat unread the peer's socket resets the connection behind its last words. */
TEST(test_a_write_fails_before_the_last_words_are_read)
{
	struct pollfd reset = { 0 };
	struct ends e;

	begin(&e);
	peerconn_tick(e.line[1], PEERCONN_KEEPALIVE_MS);
	reset.fd = e.line[0]->fd;
	reset.events = POLLIN;
	assert_int_equal(poll(&reset, 1, -1), 1);
	peerconn_free(e.line[0]);
	e.line[0] = NULL;
	reset.fd = e.line[1]->fd;
	reset.events = 0;
	assert_int_equal(poll(&reset, 1, -1), 1);
	peerconn_tick(e.line[1], 2 * PEERCONN_KEEPALIVE_MS);
	step(e.line[1]);
	assert_true(e.line[1]->over);
	assert_true(e.line[1]->closed);
	end(&e);
}

RUN_TESTS(NULL, NULL)
