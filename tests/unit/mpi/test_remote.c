/* The launcher's end of a connection to a worker, over a socket pair in one thread. */
#include "mpi/remote.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "mpi/frame.h"
#include "tests/unit/base/base_test.h"

struct ends {
	int fds[2]; /* the launcher's, the worker's */
	struct psk *psk[2];
	struct psk_conn *conn[2];
	struct remote remote;
	struct buf output;
};

static void take(void *ctx, int stream, const void *data, size_t len)
{
	struct ends *e = ctx;

	buf_add(&e->output, data, len);
}

static void begin(struct ends *e)
{
	const unsigned char key[PSK_KEY_SIZE] = "a key";
	enum psk_state states[2] = { PSK_WANT_READ, PSK_WANT_READ };
	struct error err = { 0 };
	struct peer peer;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, e->fds), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(psk_new(&e->psk[i], (enum psk_side)i, key, "test", &err),
				 0);
		assert_int_equal(psk_conn_new(&e->conn[i], e->psk[i], e->fds[i], &err),
				 0);
	}
	for (int round = 0; round < 20; round++)
		for (int i = 0; i < 2; i++)
			if (states[i] != PSK_OK)
				states[i] = psk_handshake(e->conn[i], &err);
	assert_int_equal(states[0], PSK_OK);
	assert_int_equal(states[1], PSK_OK);
	peer = (struct peer){ .fd = e->fds[0], .psk = e->psk[0], .tls = e->conn[0] };
	assert_int_equal(remote_start_worker(&e->remote, &peer, "true", &err), 0);
	assert_int_equal(e->remote.ops->pump(e->remote.self, take, e, &err), 0);
}

/* The worker writes its last words, and is gone. */
static void leave(struct ends *e, const struct buf *words)
{
	struct error err = { 0 };
	size_t n;

	assert_int_equal(psk_write(e->conn[1], words->data, words->len, &n, &err),
			 PSK_OK);
	assert_int_equal(n, words->len);
	psk_conn_free(e->conn[1]);
	close(e->fds[1]);
}

static void end(struct ends *e)
{
	remote_release(&e->remote);
	psk_conn_free(e->conn[0]);
	close(e->fds[0]);
	for (int i = 0; i < 2; i++)
		psk_free(e->psk[i]);
	buf_release(&e->output);
}

TEST(test_a_write_fails_before_the_last_words_are_read)
{
	cleanup_buf struct buf words = { .max = 100 };
	struct ends e = { .output.max = 100 };
	struct error err = { 0 };
	int status = 0;

	begin(&e);
	frame_add(&words, FRAME_STDOUT, "bye", 3);
	frame_add_exit(&words, FRAME_EXITED, 7);
	leave(&e, &words);
	e.remote.ops->signal(e.remote.self, 15);
	if (e.remote.ops->pump(e.remote.self, take, &e, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(e.output.len, 3);
	assert_memory_equal(e.output.data, "bye", 3);
	assert_true(e.remote.ops->ended(e.remote.self));
	assert_int_equal(e.remote.ops->status(e.remote.self, &status, &err), 0);
	assert_int_equal(status, 7);
	end(&e);
}

TEST(test_a_write_fails_and_there_are_no_last_words)
{
	cleanup_buf struct buf words = { .max = 100 };
	struct ends e = { .output.max = 100 };
	struct error err = { 0 };

	begin(&e);
	frame_add(&words, FRAME_STDOUT, "b", 1);
	leave(&e, &words);
	e.remote.ops->signal(e.remote.self, 15);
	assert_int_equal(e.remote.ops->pump(e.remote.self, take, &e, &err), -1);
	assert_string_equal(err.msg, "the worker closed the connection");
	assert_int_equal(e.remote.ops->input_room(e.remote.self), 0);
	end(&e);
}

RUN_TESTS(NULL, NULL)
