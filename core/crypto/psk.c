/* psk.c - TLS with a pre-shared key by mbedTLS (crypto/psk.h). */
#include "crypto/psk.h"

#include <mbedtls/hkdf.h>
#include <mbedtls/md.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_ciphersuites.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/bio.h"
#include "crypto/crypto.h"

enum { MAX_PEM = 64 * 1024 };

struct psk {
	mbedtls_ssl_config conf;
};

struct psk_conn {
	mbedtls_ssl_context ssl;
	int fd;
};

/* ---- the key -------------------------------------------------------------------- */

/* The base64 between the BEGIN and END lines, without its line ends. */
static int pem_body(struct buf *out, const char *pem, struct error *err)
{
	const char *begin = strstr(pem, "PRIVATE KEY-----\n"), *end = NULL;

	begin = begin ? strchr(begin, '\n') : NULL;
	end = begin ? strstr(begin, "-----END ") : NULL;
	if (!end)
		return error_set(err, ERR_FORMAT, "not a private key in PEM");
	for (const char *p = begin; p < end; p++)
		if (*p != '\n' && *p != '\r')
			buf_add(out, p, 1);
	return buf_check(out, "the private key", err);
}

/* Parse the private key: a corrupt one would derive a key that only this end has. */
static int check_key(const struct buf *der, struct error *err)
{
	mbedtls_pk_context key;
	int rc;

	mbedtls_pk_init(&key);
	rc = mbedtls_pk_parse_key(&key, der->data, der->len, NULL, 0, crypto_random,
				  NULL);
	mbedtls_pk_free(&key);
	return rc ? crypto_fail(err, ERR_FORMAT, rc, "the private key") : 0;
}

static int derive(unsigned char ret[PSK_KEY_SIZE], const struct buf *der,
		  const char *info, struct error *err)
{
	int rc = mbedtls_hkdf(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), NULL, 0,
			      der->data, der->len, (const unsigned char *)info,
			      strlen(info), ret, PSK_KEY_SIZE);

	return rc ? crypto_fail(err, ERR_IO, rc, "HKDF") : 0;
}

static void wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->len);
}

int psk_key(unsigned char ret[PSK_KEY_SIZE], const char *pem, const char *info,
	    struct error *err)
{
	cleanup_buf struct buf text = { .max = MAX_PEM }, der = { .max = MAX_PEM };
	int rc = crypto_start(err);

	if (!rc)
		rc = pem_body(&text, pem, err);
	if (!rc)
		rc = base64_decode(&der, (const char *)text.data, text.len, err);
	if (!rc)
		rc = check_key(&der, err);
	if (!rc)
		rc = derive(ret, &der, info, err);
	wipe(&text);
	wipe(&der);
	return rc;
}

/* ---- settings of one end -------------------------------------------------------- */

static void only_psk_dhe(mbedtls_ssl_config *conf)
{
	static const int suites[] = { MBEDTLS_TLS1_3_AES_128_GCM_SHA256, 0 };
	static const uint16_t groups[] = { MBEDTLS_SSL_IANA_TLS_GROUP_X25519, 0 };

	mbedtls_ssl_conf_rng(conf, crypto_random, NULL);
	mbedtls_ssl_conf_min_tls_version(conf, MBEDTLS_SSL_VERSION_TLS1_3);
	mbedtls_ssl_conf_max_tls_version(conf, MBEDTLS_SSL_VERSION_TLS1_3);
	mbedtls_ssl_conf_tls13_key_exchange_modes(
		conf, MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_PSK_EPHEMERAL);
	mbedtls_ssl_conf_ciphersuites(conf, suites);
	mbedtls_ssl_conf_groups(conf, groups);
}

int psk_new(struct psk **ret, enum psk_side side, const unsigned char key[PSK_KEY_SIZE],
	    const char *identity, struct error *err)
{
	struct psk *p;
	int rc;

	if (crypto_start(err))
		return -1;
	p = xcalloc(1, sizeof(*p));
	mbedtls_ssl_config_init(&p->conf);
	rc = mbedtls_ssl_config_defaults(
		&p->conf,
		side == PSK_SERVER ? MBEDTLS_SSL_IS_SERVER : MBEDTLS_SSL_IS_CLIENT,
		MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT);
	only_psk_dhe(&p->conf);
	if (!rc)
		rc = mbedtls_ssl_conf_psk(&p->conf, key, PSK_KEY_SIZE,
					  (const unsigned char *)identity,
					  strlen(identity));
	if (rc) {
		psk_free(p);
		return crypto_fail(err, ERR_IO, rc, "TLS settings");
	}
	*ret = p;
	return 0;
}

void psk_free(struct psk *p)
{
	if (!p)
		return;
	mbedtls_ssl_config_free(&p->conf);
	free(p);
}

/* ---- a connection --------------------------------------------------------------- */

int psk_conn_new(struct psk_conn **ret, struct psk *p, int fd, struct error *err)
{
	struct psk_conn *c = xcalloc(1, sizeof(*c));
	int rc;

	c->fd = fd;
	mbedtls_ssl_init(&c->ssl);
	rc = mbedtls_ssl_setup(&c->ssl, &p->conf);
	if (rc) {
		mbedtls_ssl_free(&c->ssl);
		free(c);
		return crypto_fail(err, ERR_IO, rc, "TLS");
	}
	mbedtls_ssl_set_bio(&c->ssl, &c->fd, bio_send, bio_receive, NULL);
	*ret = c;
	return 0;
}

void psk_conn_free(struct psk_conn *c)
{
	if (!c)
		return;
	if (mbedtls_ssl_is_handshake_over(&c->ssl))
		mbedtls_ssl_close_notify(&c->ssl);
	mbedtls_ssl_free(&c->ssl);
	free(c);
}

/* Convert an error of mbedTLS. */
static enum psk_state state_of(int rc, enum error_kind kind, const char *what,
			       struct error *err)
{
	switch (rc) {
	case MBEDTLS_ERR_SSL_WANT_READ:
		return PSK_WANT_READ;
	case MBEDTLS_ERR_SSL_WANT_WRITE:
		return PSK_WANT_WRITE;
	case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY:
		return PSK_END;
	case MBEDTLS_ERR_NET_CONN_RESET:
	case MBEDTLS_ERR_SSL_CONN_EOF:
		error_set(err, ERR_IO, "%s: connection lost", what);
		return PSK_FAILED;
	default:
		crypto_fail(err, kind, rc, what);
		return PSK_FAILED;
	}
}

enum psk_state psk_handshake(struct psk_conn *c, struct error *err)
{
	int rc = mbedtls_ssl_handshake(&c->ssl);
	enum psk_state state = rc ? state_of(rc, ERR_UNTRUSTED, "TLS", err) : PSK_OK;

	if (state == PSK_FAILED && err->kind == ERR_UNTRUSTED)
		error_wrap(err, "the peer does not have the same key");
	return state;
}

enum psk_state psk_read(struct psk_conn *c, void *data, size_t max, size_t *ret_n,
			struct error *err)
{
	int rc = mbedtls_ssl_read(&c->ssl, data, max);

	if (rc > 0) {
		*ret_n = (size_t)rc;
		return PSK_OK;
	}
	return rc ? state_of(rc, ERR_FORMAT, "TLS", err) : PSK_END;
}

enum psk_state psk_write(struct psk_conn *c, const void *data, size_t len, size_t *ret_n,
			 struct error *err)
{
	int rc = mbedtls_ssl_write(&c->ssl, data, len);

	if (rc >= 0) {
		*ret_n = (size_t)rc;
		return PSK_OK;
	}
	return state_of(rc, ERR_IO, "TLS", err);
}

bool psk_pending(const struct psk_conn *c)
{
	return mbedtls_ssl_check_pending(&c->ssl);
}
