/* TLS between two ends that have the same key, over a socket pair in one thread. */
#include "crypto/psk.h"

#include <sys/socket.h>

#include <mbedtls/ssl.h>

#include "base/arena.h"
#include "crypto/crypto.h"
#include "crypto/keypair.h"
#include "tests/unit/base/base_test.h"

struct ends {
	int fds[2];
	struct psk *psk[2];
	struct psk_conn *conn[2];
};

static void derive(unsigned char key[PSK_KEY_SIZE], const char *pem)
{
	struct error err = { 0 };

	if (psk_key(key, pem, "test v1", &err))
		fail_msg("%s", err.msg);
}

static void begin(struct ends *e, const unsigned char *client,
		  const unsigned char *server)
{
	const unsigned char *keys[] = { client, server };
	struct error err = { 0 };

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, e->fds), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			psk_new(&e->psk[i], (enum psk_side)i, keys[i], "test v1", &err),
			0);
		assert_int_equal(psk_conn_new(&e->conn[i], e->psk[i], e->fds[i], &err),
				 0);
	}
}

static void end(struct ends *e)
{
	for (int i = 0; i < 2; i++) {
		psk_conn_free(e->conn[i]);
		psk_free(e->psk[i]);
		close(e->fds[i]);
	}
}

/* Both in turn until neither waits: what each has come to. */
static void shake(struct ends *e, enum psk_state ret[2], struct error err[2])
{
	ret[0] = ret[1] = PSK_WANT_READ;
	for (int round = 0; round < 20; round++)
		for (int i = 0; i < 2; i++)
			if (ret[i] == PSK_WANT_READ || ret[i] == PSK_WANT_WRITE)
				ret[i] = psk_handshake(e->conn[i], &err[i]);
}

TEST(test_same_key)
{
	cleanup_arena struct arena arena = { 0 };
	unsigned char key[PSK_KEY_SIZE];
	struct error err[2] = { 0 };
	const char *pem, *public;
	enum psk_state states[2];
	struct ends e;
	char text[10];
	size_t n = 0;

	assert_int_equal(keypair_ssh(&arena, &pem, &public, err), 0);
	derive(key, pem);
	begin(&e, key, key);
	shake(&e, states, err);
	assert_int_equal(states[0], PSK_OK);
	assert_int_equal(states[1], PSK_OK);
	assert_int_equal(psk_read(e.conn[1], text, 10, &n, err), PSK_WANT_READ);
	assert_int_equal(psk_write(e.conn[0], "12345678", 8, &n, err), PSK_OK);
	assert_int_equal(n, 8);
	assert_int_equal(psk_read(e.conn[1], text, 3, &n, err), PSK_OK);
	assert_memory_equal(text, "123", 3);
	assert_true(psk_pending(e.conn[1]));
	assert_int_equal(psk_read(e.conn[1], text, 10, &n, err), PSK_OK);
	assert_int_equal(n, 5);
	assert_false(psk_pending(e.conn[1]));
	psk_conn_free(e.conn[0]);
	e.conn[0] = NULL;
	assert_int_equal(psk_read(e.conn[1], text, 10, &n, err), PSK_END);
	end(&e);
}

TEST(test_another_key)
{
	unsigned char keys[2][PSK_KEY_SIZE] = { { 1 }, { 2 } };
	struct error err[2] = { 0 };
	enum psk_state states[2];
	struct ends e;

	begin(&e, keys[0], keys[1]);
	shake(&e, states, err);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(states[i], PSK_FAILED);
		assert_int_equal(err[i].kind, ERR_UNTRUSTED);
	}
	end(&e);
}

static int push(void *ctx, const unsigned char *data, size_t len)
{
	ssize_t n = write(*(int *)ctx, data, len);

	return n < 0 ? MBEDTLS_ERR_SSL_WANT_WRITE : (int)n;
}

static int pull(void *ctx, unsigned char *data, size_t len)
{
	ssize_t n = read(*(int *)ctx, data, len);

	return n < 0 ? MBEDTLS_ERR_SSL_WANT_READ : (int)n;
}

/* A client with the key, and only these ways to use it: what the server comes to. */
static enum psk_state client_with(int modes, struct error *err)
{
	static const uint16_t groups[] = { MBEDTLS_SSL_IANA_TLS_GROUP_X25519, 0 };
	unsigned char key[PSK_KEY_SIZE] = { 0 };
	enum psk_state ret = PSK_WANT_READ;
	mbedtls_ssl_config conf;
	mbedtls_ssl_context ssl;
	struct ends e;

	begin(&e, key, key);
	mbedtls_ssl_config_init(&conf);
	mbedtls_ssl_init(&ssl);
	mbedtls_ssl_config_defaults(&conf, MBEDTLS_SSL_IS_CLIENT,
				    MBEDTLS_SSL_TRANSPORT_STREAM,
				    MBEDTLS_SSL_PRESET_DEFAULT);
	mbedtls_ssl_conf_rng(&conf, crypto_random, NULL);
	mbedtls_ssl_conf_min_tls_version(&conf, MBEDTLS_SSL_VERSION_TLS1_3);
	mbedtls_ssl_conf_tls13_key_exchange_modes(&conf, modes);
	mbedtls_ssl_conf_groups(&conf, groups);
	assert_int_equal(mbedtls_ssl_conf_psk(&conf, key, sizeof(key),
					      (const unsigned char *)"test v1", 7),
			 0);
	assert_int_equal(mbedtls_ssl_setup(&ssl, &conf), 0);
	mbedtls_ssl_set_bio(&ssl, &e.fds[0], push, pull, NULL);
	for (int round = 0; round < 20; round++) {
		if (!mbedtls_ssl_is_handshake_over(&ssl))
			(void)!mbedtls_ssl_handshake(&ssl);
		if (ret == PSK_WANT_READ || ret == PSK_WANT_WRITE)
			ret = psk_handshake(e.conn[1], err);
	}
	mbedtls_ssl_free(&ssl);
	mbedtls_ssl_config_free(&conf);
	end(&e);
	return ret;
}

/* Without ECDH, who learns the key later could read what was said. */
TEST(test_plain_psk_is_refused)
{
	struct error err = { 0 };

	assert_int_equal(
		client_with(MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_PSK_EPHEMERAL, &err),
		PSK_OK);
	assert_int_equal(client_with(MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_PSK, &err),
			 PSK_FAILED);
	assert_true(err.msg[0]);
}

TEST(test_a_peer_that_leaves)
{
	unsigned char key[PSK_KEY_SIZE] = { 0 };
	struct error err[2] = { 0 };
	struct ends e;

	begin(&e, key, key);
	assert_int_equal(psk_handshake(e.conn[0], err), PSK_WANT_READ);
	shutdown(e.fds[1], SHUT_RDWR);
	assert_int_equal(psk_handshake(e.conn[0], err), PSK_FAILED);
	assert_int_equal(err[0].kind, ERR_IO);
	end(&e);
}

TEST(test_keys)
{
	cleanup_arena struct arena arena = { 0 };
	unsigned char key[PSK_KEY_SIZE], again[PSK_KEY_SIZE];
	const char *pem, *public;
	struct error err = { 0 };
	char *damaged;

	assert_int_equal(keypair_ssh(&arena, &pem, &public, &err), 0);
	derive(key, pem);
	derive(again, arena_printf(&arena, "a comment\n%s\n", pem));
	assert_memory_equal(key, again, PSK_KEY_SIZE);
	assert_int_equal(psk_key(again, pem, "test v2", &err), 0);
	assert_memory_not_equal(key, again, PSK_KEY_SIZE);
	damaged = arena_strdup(&arena, pem);
	strchr(damaged, '\n')[3] ^= 1;
	assert_int_equal(psk_key(again, damaged, "test v1", &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
	assert_int_equal(psk_key(again, public, "test v1", &err), -1);
	assert_string_equal(err.msg, "not a private key in PEM");
}

RUN_TESTS(NULL, NULL)
