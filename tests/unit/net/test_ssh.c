/* An ssh client's peers that are no sshd. Real ones are in tests/cli/test_mpi_ssh.py. */
#include "net/ssh.h"

#include <sys/socket.h>

#include "base/arena.h"
#include "base/clock.h"
#include "crypto/keypair.h"
#include "tests/unit/base/base_test.h"

#define BANNER "SSH-2.0-peer\r\n"

/* What ssh_open() comes to with a peer that has said this and, it may be, has closed. */
static enum error_kind open_with(const char *pem, const void *says, size_t len,
				 bool closes)
{
	struct ssh_conf conf = { .user = "root", .key_pem = pem };
	struct error err = { 0 };
	struct ssh *s = NULL;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	assert_int_equal(send(fds[1], says, len, 0), (ssize_t)len);
	if (closes)
		shutdown(fds[1], SHUT_WR);
	assert_int_equal(ssh_open(&s, fds[0], &conf, clock_ms() + 300, &err), -1);
	assert_null(s);
	assert_true(err.msg[0]);
	close(fds[0]);
	close(fds[1]);
	return err.kind;
}

static const struct {
	const char *what, *says;
	size_t len;
	bool closes;
	enum error_kind wanted; /* ERR_NONE: any */
} rows[] = {
#define SAYS(text) (text), sizeof(text) - 1
	{ "closes", SAYS(""), true, ERR_IO },
	{ "is silent", SAYS(""), false, ERR_TIMEOUT },
	{ "is silent after its banner", SAYS(BANNER), false, ERR_TIMEOUT },
	{ "closes after its banner", SAYS(BANNER), true, ERR_IO },
	{ "is slow with its banner", SAYS("SSH-2.0-pe"), false, ERR_TIMEOUT },
	{ "speaks HTTP", SAYS("HTTP/1.1 400 Bad Request\r\n\r\n"), true, ERR_NONE },
	{ "has a packet of 4 GiB", SAYS(BANNER "\xff\xff\xff\xff\x05\x14"), true,
	  ERR_NONE },
	{ "has a packet of no bytes", SAYS(BANNER "\0\0\0\0\0\0\0\0"), true, ERR_NONE },
	{ "has more padding than packet",
	  SAYS(BANNER "\0\0\0\x0c\xff\x14"
		      "aaaaaaaaaa"),
	  true, ERR_NONE },
	{ "begins with another packet",
	  SAYS(BANNER "\0\0\0\x0c\x0a\x34" /* USERAUTH_SUCCESS */ "aaaaaaaaaa"), true,
	  ERR_NONE },
	{ "has an algorithm list that is cut short",
	  SAYS(BANNER "\0\0\0\x1c\x04\x14"
		      "cccccccccccccccc\0\0\xff\xff"
		      "aaaa"),
	  true, ERR_NONE },
};

TEST(test_peers)
{
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	const char *pem, *public;

	assert_int_equal(keypair_ssh(&arena, &pem, &public, &err), 0);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		enum error_kind kind =
			open_with(pem, rows[i].says, rows[i].len, rows[i].closes);

		if (rows[i].wanted)
			check_int(rows[i].what, kind, rows[i].wanted);
	}
}

TEST(test_a_banner_without_end)
{
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	const char *pem, *public;
	char text[16 * 1024];

	assert_int_equal(keypair_ssh(&arena, &pem, &public, &err), 0);
	memset(text, 'x', sizeof(text));
	open_with(pem, text, sizeof(text), true);
	memcpy(text, "SSH-2.0-", 8);
	open_with(pem, text, sizeof(text), true);
}

TEST(test_keys)
{
	assert_int_equal(open_with("", "", 0, true), ERR_FORMAT);
	assert_int_equal(open_with("-----BEGIN EC PRIVATE KEY-----\nAAAA\n"
				   "-----END EC PRIVATE KEY-----\n",
				   "", 0, true),
			 ERR_FORMAT);
}

RUN_TESTS(NULL, NULL)
