/* tls.c - TLS servers with mbedTLS (crypto/tls.h). */
#include "crypto/tls.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include <mbedtls/ecp.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_ciphersuites.h>
#include <mbedtls/x509_crt.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/bio.h"
#include "crypto/cert.h"
#include "crypto/crypto.h"

#define HANDSHAKE "TLS handshake"

enum { MAX_PEM = 256 * 1024, MAX_CIPHERS = 32, MAX_ALPN = 8 };

/* A certificate chain and its key; connections hold a reference to theirs. */
struct identity {
	atomic_int refs;
	mbedtls_x509_crt chain;
	mbedtls_pk_context key;
};

struct tls_server {
	mbedtls_ssl_config conf;
	int ciphers[MAX_CIPHERS + 1];
	char *alpn[MAX_ALPN + 1];
	pthread_mutex_t lock; /* guards the following members */
	struct identity *identity;
};

struct tls_client_ca {
	mbedtls_x509_crt chain;
};

struct tls_conn {
	mbedtls_ssl_context ssl;
	const struct tls_client_ca *client_ca;
	struct identity *identity;
	int fd;
};

/* ---- cipher suites -------------------------------------------------------------- */

static const struct cipher {
	const char *name; /* Go's name */
	int id;
} ciphers[] = {
	{ "TLS_AES_128_GCM_SHA256", MBEDTLS_TLS1_3_AES_128_GCM_SHA256 },
	{ "TLS_AES_256_GCM_SHA384", MBEDTLS_TLS1_3_AES_256_GCM_SHA384 },
	{ "TLS_CHACHA20_POLY1305_SHA256", MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256 },
	{ "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
	  MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 },
	{ "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
	  MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 },
	{ "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
	  MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 },
	{ "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	  MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 },
	{ "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
	  MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 },
	{ "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	  MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 },
	/* Names before RFC 7905, which Go still accepts. */
	{ "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
	  MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 },
	{ "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
	  MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 },
};
enum { N_CIPHERS = N_ELEMENTS(ciphers), N_CIPHERS_1_3 = 3 };

bool tls_knows_cipher(const char *name)
{
	for (size_t i = 0; i < N_CIPHERS; i++)
		if (str_eq(ciphers[i].name, name))
			return true;
	return false;
}

/* Enable suites in the order of the table: Go ignores the configured order, too. */
static int set_ciphers(struct tls_server *s, const char *const *names, struct error *err)
{
	size_t n = 0;

	for (const char *const *name = names; *name; name++)
		if (!tls_knows_cipher(*name))
			return error_set(err, ERR_INVALID,
					 "'%.80s': unknown or unsupported cipher suite",
					 *name);
	for (size_t i = 0; i < N_CIPHERS; i++)
		if (i < N_CIPHERS_1_3 || str_in(ciphers[i].name, names))
			s->ciphers[n++] = ciphers[i].id;
	mbedtls_ssl_conf_ciphersuites(&s->conf, s->ciphers);
	return 0;
}

/* ---- the server ----------------------------------------------------------------- */

static void identity_drop(struct identity *identity)
{
	if (!identity || atomic_fetch_sub(&identity->refs, 1) > 1)
		return;
	mbedtls_x509_crt_free(&identity->chain);
	mbedtls_pk_free(&identity->key);
	free(identity);
}

static struct identity *identity_take(struct tls_server *s)
{
	struct identity *identity;

	pthread_mutex_lock(&s->lock);
	identity = s->identity;
	if (identity)
		atomic_fetch_add(&identity->refs, 1);
	pthread_mutex_unlock(&s->lock);
	return identity;
}

static int on_certificate(mbedtls_ssl_context *ssl)
{
	struct tls_conn *c = mbedtls_ssl_get_user_data_p(ssl);

	if (c->client_ca) {
		mbedtls_ssl_set_hs_ca_chain(ssl, (mbedtls_x509_crt *)&c->client_ca->chain,
					    NULL);
		mbedtls_ssl_set_hs_authmode(ssl, MBEDTLS_SSL_VERIFY_REQUIRED);
	}
	return mbedtls_ssl_set_hs_own_cert(ssl, &c->identity->chain, &c->identity->key);
}

static int set_alpn(struct tls_server *s, const char *const *names, struct error *err)
{
	static const char *const http[] = { "http/1.1", NULL };
	int rc;

	if (!names)
		names = http;
	for (size_t i = 0; names[i]; i++) {
		if (i == MAX_ALPN)
			return error_set(err, ERR_LIMIT, "more than %d protocols",
					 MAX_ALPN);
		s->alpn[i] = xstrdup(names[i]);
	}
	rc = mbedtls_ssl_conf_alpn_protocols(&s->conf, (const char **)s->alpn);
	return rc ? crypto_fail(err, ERR_INVALID, rc, "ALPN") : 0;
}

/* Refuse client certificates with extensions that crypto_parse_certificate() skipped. */
static int refuse_unknown(void *unused, mbedtls_x509_crt *crt, int depth, uint32_t *flags)
{
	struct cert_extensions extensions;

	(void)unused, (void)depth;
	cert_extensions(&extensions, crt);
	if (*extensions.unknown || extensions.constraints)
		*flags |= MBEDTLS_X509_BADCERT_OTHER;
	return 0;
}

static int configure(struct tls_server *s, const struct tls_conf *conf, struct error *err)
{
	int rc = mbedtls_ssl_config_defaults(&s->conf, MBEDTLS_SSL_IS_SERVER,
					     MBEDTLS_SSL_TRANSPORT_STREAM,
					     MBEDTLS_SSL_PRESET_DEFAULT);

	if (rc)
		return crypto_fail(err, ERR_IO, rc, "TLS settings");
	mbedtls_ssl_conf_rng(&s->conf, crypto_random, NULL);
	mbedtls_ssl_conf_cert_cb(&s->conf, on_certificate);
	mbedtls_ssl_conf_verify(&s->conf, refuse_unknown, NULL);
	mbedtls_ssl_conf_min_tls_version(&s->conf, conf->min_version == TLS_1_3
							   ? MBEDTLS_SSL_VERSION_TLS1_3
							   : MBEDTLS_SSL_VERSION_TLS1_2);
	if (conf->ciphers && set_ciphers(s, conf->ciphers, err))
		return -1;
	return set_alpn(s, conf->alpn, err);
}

int tls_server_new(struct tls_server **ret, const struct tls_conf *conf,
		   struct error *err)
{
	struct tls_server *s;

	if (crypto_start(err))
		return -1;
	s = xcalloc(1, sizeof(*s));
	pthread_mutex_init(&s->lock, NULL);
	mbedtls_ssl_config_init(&s->conf);
	if (configure(s, conf, err)) {
		tls_server_free(s);
		return -1;
	}
	*ret = s;
	return 0;
}

void tls_server_free(struct tls_server *s)
{
	if (!s)
		return;
	identity_drop(s->identity);
	mbedtls_ssl_config_free(&s->conf);
	for (char **name = s->alpn; *name; name++)
		free(*name);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/*
 * Accept only keys that mbedTLS can use in several threads: it has static tables for
 * these curves' base points, and locks RSA's blinding.
 */
static bool key_is_usable(const mbedtls_pk_context *key)
{
	mbedtls_ecp_group_id group;

	if (mbedtls_pk_get_type(key) == MBEDTLS_PK_RSA)
		return true;
	if (mbedtls_pk_get_type(key) != MBEDTLS_PK_ECKEY)
		return false;
	group = mbedtls_ecp_keypair_get_group_id(mbedtls_pk_ec(*key));
	return group == MBEDTLS_ECP_DP_SECP256R1 || group == MBEDTLS_ECP_DP_SECP384R1 ||
	       group == MBEDTLS_ECP_DP_SECP521R1;
}

static int load_identity(struct identity *identity, const char *cert_pem,
			 const char *key_pem, struct error *err)
{
	size_t cert_len = strlen(cert_pem), key_len = strlen(key_pem);
	int rc;

	if (cert_len > MAX_PEM || key_len > MAX_PEM)
		return error_set(err, ERR_LIMIT, "certificate or key exceeds %d bytes",
				 MAX_PEM);
	rc = mbedtls_x509_crt_parse(&identity->chain, (const unsigned char *)cert_pem,
				    cert_len + 1);
	if (rc > 0)
		return error_set(err, ERR_FORMAT,
				 "the certificate: %d invalid PEM blocks", rc);
	if (rc)
		return crypto_fail(err, ERR_FORMAT, rc, "the certificate");
	rc = mbedtls_pk_parse_key(&identity->key, (const unsigned char *)key_pem,
				  key_len + 1, NULL, 0, crypto_random, NULL);
	if (rc)
		return crypto_fail(err, ERR_FORMAT, rc, "the certificate's key");
	if (!key_is_usable(&identity->key))
		return error_set(
			err, ERR_FORMAT,
			"the certificate's key is not RSA, P-256, P-384 or P-521");
	if (mbedtls_pk_check_pair(&identity->chain.pk, &identity->key, crypto_random,
				  NULL))
		return error_set(err, ERR_FORMAT, "the certificate is for another key");
	return 0;
}

int tls_server_identity(struct tls_server *s, const char *cert_pem, const char *key_pem,
			struct error *err)
{
	struct identity *identity = xcalloc(1, sizeof(*identity)), *before;

	identity->refs = 1;
	mbedtls_x509_crt_init(&identity->chain);
	mbedtls_pk_init(&identity->key);
	if (load_identity(identity, cert_pem, key_pem, err)) {
		identity_drop(identity);
		return -1;
	}
	pthread_mutex_lock(&s->lock);
	before = s->identity;
	s->identity = identity;
	pthread_mutex_unlock(&s->lock);
	identity_drop(before);
	return 0;
}

bool tls_server_ready(const struct tls_server *s)
{
	struct tls_server *server = (struct tls_server *)s; /* for its lock */
	struct identity *identity = identity_take(server);
	bool ready = identity;

	identity_drop(identity);
	return ready;
}

/* ---- a connection --------------------------------------------------------------- */

static enum tls_turn fail(int rc, const char *what, struct error *err)
{
	if (rc == MBEDTLS_ERR_NET_CONN_RESET || rc == MBEDTLS_ERR_SSL_CONN_EOF)
		error_set(err, ERR_IO, "%s: connection closed by the peer", what);
	else
		crypto_fail(err, ERR_FORMAT, rc, what);
	return TLS_FAILED;
}

/* Convert a negative result of mbedTLS. */
static enum tls_turn turn_of(int rc, const char *what, struct error *err)
{
	if (rc == MBEDTLS_ERR_SSL_WANT_READ)
		return TLS_WANTS_READ;
	if (rc == MBEDTLS_ERR_SSL_WANT_WRITE)
		return TLS_WANTS_WRITE;
	return fail(rc, what, err);
}

/* Wait after a negative result of mbedTLS. 0: repeat the call; -1: failed. */
static int wait_for(struct tls_conn *c, int rc, const char *what, int64_t deadline,
		    struct error *err)
{
	enum tls_turn turn = turn_of(rc, what, err);

	if (turn == TLS_FAILED)
		return -1;
	return sock_wait(c->fd, turn == TLS_WANTS_READ ? POLLIN : POLLOUT, deadline, err);
}

static int handshake(struct tls_conn *c, int64_t deadline, struct error *err)
{
	for (;;) {
		int rc = mbedtls_ssl_handshake(&c->ssl);

		if (!rc)
			return 0;
		if (wait_for(c, rc, HANDSHAKE, deadline, err))
			return -1;
	}
}

static void conn_free(struct tls_conn *c)
{
	mbedtls_ssl_free(&c->ssl);
	identity_drop(c->identity);
	free(c);
}

int tls_client_ca_new(struct tls_client_ca **ret, const char *pem, struct error *err)
{
	struct tls_client_ca *ca;
	int rc;

	if (crypto_start(err))
		return -1;
	ca = xcalloc(1, sizeof(*ca));
	mbedtls_x509_crt_init(&ca->chain);
	rc = strlen(pem) > MAX_PEM
		     ? -1
		     : mbedtls_x509_crt_parse(&ca->chain, (const unsigned char *)pem,
					      strlen(pem) + 1);
	if (!rc) {
		*ret = ca;
		return 0;
	}
	tls_client_ca_free(ca);
	return error_set(err, ERR_FORMAT, "expected CA certificates in PEM");
}

void tls_client_ca_free(struct tls_client_ca *ca)
{
	if (!ca)
		return;
	mbedtls_x509_crt_free(&ca->chain);
	free(ca);
}

int tls_begin(struct tls_conn **ret, struct tls_server *s,
	      const struct tls_client_ca *client_ca, int fd, struct error *err)
{
	struct identity *identity = identity_take(s);
	struct tls_conn *c;
	int rc;

	if (!identity)
		return error_set(err, ERR_BUSY, "no certificate yet");
	c = xcalloc(1, sizeof(*c));
	c->identity = identity;
	c->client_ca = client_ca;
	c->fd = fd;
	mbedtls_ssl_init(&c->ssl);
	rc = mbedtls_ssl_setup(&c->ssl, &s->conf);
	if (rc) {
		conn_free(c);
		return crypto_fail(err, ERR_IO, rc, "TLS");
	}
	mbedtls_ssl_set_user_data_p(&c->ssl, c);
	mbedtls_ssl_set_bio(&c->ssl, &c->fd, bio_send, bio_receive, NULL);
	*ret = c;
	return 0;
}

int tls_accept(struct tls_conn **ret, struct tls_server *s,
	       const struct tls_client_ca *client_ca, int fd, int64_t deadline,
	       struct error *err)
{
	struct tls_conn *c;

	if (tls_begin(&c, s, client_ca, fd, err))
		return -1;
	if (handshake(c, deadline, err)) {
		conn_free(c);
		return -1;
	}
	*ret = c;
	return 0;
}

int tls_read(struct tls_conn *c, void *data, size_t max, size_t *ret_n, int64_t deadline,
	     struct error *err)
{
	for (;;) {
		int rc;

		if (clock_ms() >= deadline)
			return error_set(err, ERR_TIMEOUT,
					 "timed out waiting for the peer");
		rc = mbedtls_ssl_read(&c->ssl, data, max);
		if (rc == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY ||
		    rc == MBEDTLS_ERR_SSL_CONN_EOF)
			rc = 0;
		if (rc >= 0) {
			*ret_n = (size_t)rc;
			return 0;
		}
		if (wait_for(c, rc, "TLS", deadline, err))
			return -1;
	}
}

int tls_write(struct tls_conn *c, const void *data, size_t len, int64_t deadline,
	      struct error *err)
{
	const unsigned char *from = data;

	while (len) {
		int rc = mbedtls_ssl_write(&c->ssl, from, len);

		if (rc > 0) {
			from += rc;
			len -= (size_t)rc;
			continue;
		}
		if (wait_for(c, rc, "TLS", deadline, err))
			return -1;
	}
	return 0;
}

enum tls_turn tls_try_handshake(struct tls_conn *c, struct error *err)
{
	int rc = mbedtls_ssl_handshake(&c->ssl);

	return rc ? turn_of(rc, HANDSHAKE, err) : TLS_DONE;
}

enum tls_turn tls_try_read(struct tls_conn *c, void *data, size_t max, size_t *ret_n,
			   struct error *err)
{
	int rc = mbedtls_ssl_read(&c->ssl, data, max);

	if (rc == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY || rc == MBEDTLS_ERR_SSL_CONN_EOF)
		rc = 0;
	if (rc < 0)
		return turn_of(rc, "TLS", err);
	*ret_n = (size_t)rc;
	return TLS_DONE;
}

enum tls_turn tls_try_write(struct tls_conn *c, const void *data, size_t len,
			    size_t *ret_n, struct error *err)
{
	int rc = mbedtls_ssl_write(&c->ssl, data, len);

	if (rc < 0)
		return turn_of(rc, "TLS", err);
	*ret_n = (size_t)rc;
	return TLS_DONE;
}

void tls_close(struct tls_conn *c)
{
	if (!c)
		return;
	mbedtls_ssl_close_notify(&c->ssl);
	conn_free(c);
}
