/* x509.c - makes and checks certificates (crypto/x509.h). */
#include "crypto/x509.h"

#include <arpa/inet.h>
#include <stdio.h>

#include <mbedtls/asn1.h>
#include <mbedtls/ecp.h>
#include <mbedtls/oid.h>
#include <mbedtls/pk.h>
#include <mbedtls/rsa.h>
#include <mbedtls/x509_crt.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/cert.h"
#include "crypto/crypto.h"
#include "crypto/keypair.h"

enum {
	MAX_PEM = 256 * 1024,
	CERT_PEM_SIZE = 4096,
	KEY_PEM_SIZE = 4096,
	SERIAL_SIZE = 16,
	MAX_NAME_PART = 127, /* its length fits into one byte of DER */
	CN_SIZE = 64,        /* RFC 5280, ub-common-name */
	DNS_NAME_SIZE = 253,
	AN_HOUR = 3600,
};

static void free_pk(mbedtls_pk_context *key)
{
	mbedtls_pk_free(key);
}
#define cleanup_pk __attribute__((cleanup(free_pk)))

static void free_crt(mbedtls_x509_crt *crt)
{
	mbedtls_x509_crt_free(crt);
}
#define cleanup_crt __attribute__((cleanup(free_crt)))

void x509_pair_release(struct x509_pair *p)
{
	str_wipe_free(p->key_pem);
	free(p->cert_pem);
	*p = (struct x509_pair){ 0 };
}

/* ---- reading -------------------------------------------------------------------- */

static int check_size(const char *pem, const char *what, struct error *err)
{
	size_t len = pem ? strlen(pem) : 0;

	if (len && len <= MAX_PEM)
		return 0;
	return error_set(err, ERR_FORMAT, "%s: %s", what, len ? "too long" : "missing");
}

static int parse_certs(mbedtls_x509_crt *ret, const char *pem, const char *what,
		       struct error *err)
{
	int rc;

	if (check_size(pem, what, err) || crypto_start(err))
		return -1;
	rc = mbedtls_x509_crt_parse(ret, (const unsigned char *)pem, strlen(pem) + 1);
	if (rc > 0)
		return error_set(err, ERR_FORMAT, "%s: %d invalid PEM blocks", what, rc);
	return rc ? crypto_fail(err, ERR_FORMAT, rc, what) : 0;
}

static int parse_key(mbedtls_pk_context *ret, const char *pem, const char *what,
		     struct error *err)
{
	int rc;

	if (check_size(pem, what, err) || crypto_start(err))
		return -1;
	rc = mbedtls_pk_parse_key(ret, (const unsigned char *)pem, strlen(pem) + 1, NULL,
				  0, crypto_random, NULL);
	return rc ? crypto_fail(err, ERR_FORMAT, rc, what) : 0;
}

/* ---- making --------------------------------------------------------------------- */

struct plan {
	const char *subject, *issuer; /* in the form of add_name_part() */
	const char *dns_name;
	mbedtls_pk_context *key, *issuer_key;
	const mbedtls_x509_buf *issuer_key_id; /* NULL: self-signed */
	int64_t from, until;
};

/*
 * "2.5.4.3=#0C04...": a part of a name as dotted OID and DER (RFC 4514, 2.4), so
 * that nothing needs escaping and a CA's name is repeated byte for byte; Go compares
 * the bytes.
 */
static int add_name_part(struct buf *out, const char *oid, const mbedtls_asn1_buf *value,
			 struct error *err)
{
	const unsigned char head[] = { (unsigned char)value->tag,
				       (unsigned char)value->len };

	if (!value->len || value->len > MAX_NAME_PART)
		return error_set(err, ERR_UNSUPPORTED,
				 "certificate name of %zu bytes: expected 1 to %d",
				 value->len, MAX_NAME_PART);
	buf_printf(out, "%s%s=#", out->len ? "," : "", oid);
	hex_encode(out, head, sizeof(head));
	hex_encode(out, value->p, value->len);
	return buf_check(out, "a name in a certificate", err);
}

static int add_text_part(struct buf *out, const char *oid, const char *text,
			 struct error *err)
{
	cleanup_free char *copy = xstrdup(text);
	mbedtls_asn1_buf value = { .tag = MBEDTLS_ASN1_UTF8_STRING,
				   .p = (unsigned char *)copy,
				   .len = strlen(text) };

	return add_name_part(out, oid, &value, err);
}

static int add_name(struct buf *out, const mbedtls_x509_name *name, struct error *err)
{
	char oid[64];

	for (; name; name = name->next) {
		int rc = mbedtls_oid_get_numeric_string(oid, sizeof(oid), &name->oid);

		if (rc < 0)
			return crypto_fail(err, ERR_UNSUPPORTED, rc, "the CA's name");
		if (add_name_part(out, oid, &name->val, err))
			return -1;
	}
	return 0;
}

static void asn1_time(char text[16], int64_t seconds)
{
	static const int64_t most = 253402300799; /* the year 9999 */
	time_t t = seconds < 0 ? 0 : seconds > most ? most : seconds;
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(text, 16, "%Y%m%d%H%M%S", &tm);
}

static int set_serial(mbedtls_x509write_cert *w)
{
	unsigned char serial[SERIAL_SIZE];
	int rc = crypto_random(NULL, serial, sizeof(serial));

	/* Positive, and without a first byte 0, which would not be DER. */
	serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40);
	return rc ? rc : mbedtls_x509write_crt_set_serial_raw(w, serial, sizeof(serial));
}

static int set_validity(mbedtls_x509write_cert *w, const struct plan *p)
{
	char from[16], until[16];

	asn1_time(from, p->from);
	asn1_time(until, p->until);
	return mbedtls_x509write_crt_set_validity(w, from, until);
}

static int set_name(mbedtls_x509write_cert *w, const char *name)
{
	cleanup_free char *copy = xstrdup(name);
	mbedtls_x509_san_list list = { .node.type = MBEDTLS_X509_SAN_DNS_NAME };
	unsigned char address[16];
	size_t len = inet_pton(AF_INET, name, address) == 1 ? 4 : 0;

	if (!len && inet_pton(AF_INET6, name, address) == 1)
		len = sizeof(address);
	if (len)
		list.node.type = MBEDTLS_X509_SAN_IP_ADDRESS;
	list.node.san.unstructured_name.p = len ? address : (unsigned char *)copy;
	list.node.san.unstructured_name.len = len ? len : strlen(name);
	return mbedtls_x509write_crt_set_subject_alternative_name(w, &list);
}

/* Set AuthorityKeyIdentifier (RFC 5280, 4.2.1.1), copied from the CA's certificate. */
static int set_issuer_key_id(mbedtls_x509write_cert *w, const mbedtls_x509_buf *id)
{
	unsigned char der[4 + MAX_NAME_PART - 4] = { 0x30, 0, 0x80, 0 };

	if (!id->len || id->len > sizeof(der) - 4)
		return 0;
	der[1] = (unsigned char)(id->len + 2);
	der[3] = (unsigned char)id->len;
	memcpy(der + 4, id->p, id->len);
	return mbedtls_x509write_crt_set_extension(
		w, MBEDTLS_OID_AUTHORITY_KEY_IDENTIFIER,
		MBEDTLS_OID_SIZE(MBEDTLS_OID_AUTHORITY_KEY_IDENTIFIER), 0, der,
		id->len + 4);
}

static int set_purpose(mbedtls_x509write_cert *w, bool is_ca)
{
	static const char server[] = MBEDTLS_OID_SERVER_AUTH;
	unsigned usage = MBEDTLS_X509_KU_DIGITAL_SIGNATURE;
	mbedtls_asn1_sequence list = { 0 };
	int rc;

	if (is_ca)
		usage |= MBEDTLS_X509_KU_KEY_ENCIPHERMENT | MBEDTLS_X509_KU_KEY_CERT_SIGN;
	rc = mbedtls_x509write_crt_set_basic_constraints(w, is_ca, -1);
	if (!rc)
		rc = mbedtls_x509write_crt_set_key_usage(w, usage);
	if (rc || is_ca)
		return rc;
	list.buf.tag = MBEDTLS_ASN1_OID;
	list.buf.p = (unsigned char *)server;
	list.buf.len = sizeof(server) - 1;
	return mbedtls_x509write_crt_set_ext_key_usage(w, &list);
}

static int fill_in(mbedtls_x509write_cert *w, const struct plan *p)
{
	int rc = set_serial(w);

	mbedtls_x509write_crt_set_version(w, MBEDTLS_X509_CRT_VERSION_3);
	mbedtls_x509write_crt_set_md_alg(w, MBEDTLS_MD_SHA256);
	mbedtls_x509write_crt_set_subject_key(w, p->key);
	mbedtls_x509write_crt_set_issuer_key(w, p->issuer_key);
	if (!rc)
		rc = mbedtls_x509write_crt_set_subject_name(w, p->subject);
	if (!rc)
		rc = mbedtls_x509write_crt_set_issuer_name(w, p->issuer);
	if (!rc)
		rc = set_validity(w, p);
	if (!rc)
		rc = set_purpose(w, !p->issuer_key_id);
	if (!rc)
		rc = mbedtls_x509write_crt_set_subject_key_identifier(w);
	if (!rc && p->issuer_key_id)
		rc = set_issuer_key_id(w, p->issuer_key_id);
	return rc ? rc : set_name(w, p->dns_name);
}

/* Write certificate and key as PEM. */
static int write_pair(struct x509_pair *ret, const struct plan *p, struct error *err)
{
	unsigned char cert[CERT_PEM_SIZE], key[KEY_PEM_SIZE];
	mbedtls_x509write_cert w;
	int rc;

	mbedtls_x509write_crt_init(&w);
	rc = fill_in(&w, p);
	if (!rc)
		rc = mbedtls_x509write_crt_pem(&w, cert, sizeof(cert), crypto_random,
					       NULL);
	mbedtls_x509write_crt_free(&w);
	if (!rc)
		rc = mbedtls_pk_write_key_pem(p->key, key, sizeof(key));
	if (rc)
		return crypto_fail(err, ERR_IO, rc, "making a certificate");
	ret->cert_pem = xstrdup((const char *)cert);
	ret->key_pem = xstrdup((const char *)key);
	explicit_bzero(key, sizeof(key));
	return 0;
}

static int make_rsa(mbedtls_pk_context *key, struct error *err)
{
	int rc = mbedtls_pk_setup(key, mbedtls_pk_info_from_type(MBEDTLS_PK_RSA));

	if (!rc)
		rc = mbedtls_rsa_gen_key(mbedtls_pk_rsa(*key), crypto_random, NULL, 2048,
					 65537);
	return rc ? crypto_fail(err, ERR_IO, rc, "making an RSA key") : 0;
}

static int make_p256(mbedtls_pk_context *key, struct error *err)
{
	int rc = mbedtls_pk_setup(key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));

	if (!rc)
		rc = mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(*key),
					 crypto_random, NULL);
	return rc ? crypto_fail(err, ERR_IO, rc, "making a P-256 key") : 0;
}

static int write_ca(struct x509_pair *ret, struct plan *plan, const char *organization,
		    int (*make_key)(mbedtls_pk_context *key, struct error *err),
		    struct error *err)
{
	cleanup_buf struct buf name = { .max = 1024 };
	cleanup_pk mbedtls_pk_context key;

	mbedtls_pk_init(&key);
	if (crypto_start(err) || add_text_part(&name, "2.5.4.10", organization, err) ||
	    add_text_part(&name, "2.5.4.3", plan->dns_name, err) || make_key(&key, err))
		return -1;
	plan->key = plan->issuer_key = &key;
	plan->subject = plan->issuer = (const char *)name.data;
	return write_pair(ret, plan, err);
}

int x509_new_ca(struct x509_pair *ret, const char *common_name, const char *organization,
		int64_t now, int64_t until, struct error *err)
{
	struct plan plan = { .dns_name = common_name,
			     .from = now - AN_HOUR,
			     .until = until };

	return write_ca(ret, &plan, organization, make_rsa, err);
}

int x509_new_p256_ca(struct x509_pair *ret, const char *common_name,
		     const char *organization, int64_t now, int64_t until,
		     struct error *err)
{
	struct plan plan = { .dns_name = common_name,
			     .from = now - AN_HOUR,
			     .until = until };

	return write_ca(ret, &plan, organization, make_p256, err);
}

int x509_new_server(struct x509_pair *ret, const struct x509_pair *ca,
		    const char *dns_name, int64_t now, int64_t until, struct error *err)
{
	cleanup_buf struct buf name = { .max = 1024 }, issuer = { .max = 8192 };
	cleanup_pk mbedtls_pk_context key, ca_key;
	cleanup_crt mbedtls_x509_crt ca_cert;
	struct plan plan = { .key = &key,
			     .issuer_key = &ca_key,
			     .issuer_key_id = &ca_cert.subject_key_id,
			     .dns_name = dns_name,
			     .from = now - AN_HOUR,
			     .until = until };
	char common_name[CN_SIZE + 1];

	mbedtls_pk_init(&key);
	mbedtls_pk_init(&ca_key);
	mbedtls_x509_crt_init(&ca_cert);
	if (!dns_name[0] || strlen(dns_name) > DNS_NAME_SIZE)
		return error_set(err, ERR_INVALID, "'%.80s' is not a DNS name", dns_name);
	snprintf(common_name, sizeof(common_name), "%.64s", dns_name);
	if (parse_certs(&ca_cert, ca->cert_pem, "the CA's certificate", err) ||
	    parse_key(&ca_key, ca->key_pem, "the CA's key", err) ||
	    add_name(&issuer, &ca_cert.subject, err) ||
	    add_text_part(&name, "2.5.4.3", common_name, err) || make_p256(&key, err))
		return -1;
	plan.subject = (const char *)name.data;
	plan.issuer = (const char *)issuer.data;
	return write_pair(ret, &plan, err);
}

/* ---- checking ------------------------------------------------------------------- */

static int64_t seconds_of(const mbedtls_x509_time *t)
{
	struct tm tm = { .tm_year = t->year - 1900,
			 .tm_mon = t->mon - 1,
			 .tm_mday = t->day,
			 .tm_hour = t->hour,
			 .tm_min = t->min,
			 .tm_sec = t->sec };

	return timegm(&tm);
}

static int check_time(const mbedtls_x509_crt *crt, const char *what, int64_t at,
		      struct error *err)
{
	int64_t from = seconds_of(&crt->valid_from), until = seconds_of(&crt->valid_to);
	char text[TIME_TEXT_SIZE];

	if (at < from)
		return error_set(err, ERR_INVALID, "%s is not valid before %s", what,
				 time_text(from, text));
	if (at > until)
		return error_set(err, ERR_INVALID, "%s expires at %s", what,
				 time_text(until, text));
	return 0;
}

static int check_pair(const mbedtls_x509_crt *crt, const char *key_pem, const char *what,
		      struct error *err)
{
	cleanup_pk mbedtls_pk_context key;

	mbedtls_pk_init(&key);
	if (parse_key(&key, key_pem, "the key", err))
		return -1;
	if (mbedtls_pk_check_pair(&crt->pk, &key, crypto_random, NULL))
		return error_set(err, ERR_INVALID, "%s is for another key", what);
	return 0;
}

/* Ignore mbedTLS's check, against the current time; check_times() checks others. */
static int ignore_time(void *unused, mbedtls_x509_crt *crt, int depth, uint32_t *flags)
{
	*flags &= ~(uint32_t)(MBEDTLS_X509_BADCERT_EXPIRED | MBEDTLS_X509_BADCERT_FUTURE);
	return 0;
}

static int check_chain(mbedtls_x509_crt *crt, mbedtls_x509_crt *ca, const char *dns_name,
		       struct error *err)
{
	static const char server[] = MBEDTLS_OID_SERVER_AUTH;
	uint32_t flags = 0;
	char text[256] = "";

	mbedtls_x509_crt_verify(crt, ca, NULL, dns_name, &flags, ignore_time, NULL);
	if (flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED)
		return error_set(err, ERR_INVALID,
				 "the certificate is signed by another CA");
	if (flags & MBEDTLS_X509_BADCERT_CN_MISMATCH ||
	    !mbedtls_x509_crt_has_ext_type(crt, MBEDTLS_X509_EXT_SUBJECT_ALT_NAME))
		return error_set(err, ERR_INVALID,
				 "the certificate is for another name than %s", dns_name);
	if (flags) {
		mbedtls_x509_crt_verify_info(text, sizeof(text), "", flags);
		text[strcspn(text, "\n")] = '\0';
		return error_set(err, ERR_INVALID, "the certificate: %s", text);
	}
	if (mbedtls_x509_crt_check_extended_key_usage(crt, server, sizeof(server) - 1))
		return error_set(err, ERR_INVALID, "the certificate is not for a server");
	return 0;
}

/* All of the chain, and at least one CA. */
static int check_times(const mbedtls_x509_crt *crt, const mbedtls_x509_crt *ca,
		       int64_t at, struct error *err)
{
	const mbedtls_x509_crt *any;

	for (; crt; crt = crt->next)
		if (check_time(crt, "the certificate", at, err))
			return -1;
	for (any = ca; any; any = any->next)
		if (!check_time(any, "the CA", at, IGNORED))
			return 0;
	return check_time(ca, "the CA", at, err);
}

int x509_check_server(const struct x509_pair *p, const char *ca_pem, const char *dns_name,
		      int64_t at, struct error *err)
{
	cleanup_crt mbedtls_x509_crt crt, ca;

	mbedtls_x509_crt_init(&crt);
	mbedtls_x509_crt_init(&ca);
	if (parse_certs(&crt, p->cert_pem, "the certificate", err) ||
	    parse_certs(&ca, ca_pem, "the CA's certificate", err) ||
	    check_pair(&crt, p->key_pem, "the certificate", err) ||
	    check_chain(&crt, &ca, dns_name, err))
		return -1;
	return check_times(&crt, &ca, at, err);
}

int x509_check_times(const char *cert_pem, const char *ca_pem, int64_t from,
		     int64_t until, struct error *err)
{
	cleanup_crt mbedtls_x509_crt crt, ca;

	mbedtls_x509_crt_init(&crt);
	mbedtls_x509_crt_init(&ca);
	if (parse_certs(&crt, cert_pem, "the certificate", err) ||
	    parse_certs(&ca, ca_pem, "the CA's certificate", err) ||
	    check_times(&crt, &ca, from, err))
		return -1;
	return check_times(&crt, &ca, until, err);
}

int x509_check_ca(const struct x509_pair *p, int64_t at, struct error *err)
{
	cleanup_crt mbedtls_x509_crt crt;

	mbedtls_x509_crt_init(&crt);
	if (parse_certs(&crt, p->cert_pem, "the CA's certificate", err))
		return -1;
	if (mbedtls_x509_crt_get_ca_istrue(&crt) != 1 ||
	    mbedtls_x509_crt_check_key_usage(&crt, MBEDTLS_X509_KU_KEY_CERT_SIGN))
		return error_set(err, ERR_INVALID, "the certificate is not a CA's");
	if (check_time(&crt, "the CA", at, err))
		return -1;
	return p->key_pem ? check_pair(&crt, p->key_pem, "the CA", err) : 0;
}

/* Parse the first certificate, without the rest of its chain. */
static int parse_leaf(mbedtls_x509_crt *ret, const char *pem, struct error *err)
{
	cleanup_buf struct buf der = { .max = CERT_MAX_DER };
	char why[CERT_WHY];
	int rc;

	if (!cert_next_pem(&pem, &der))
		return error_set(err, ERR_FORMAT, "contains no certificate in PEM");
	rc = crypto_parse_certificate(ret, der.data, der.len);
	if (!rc)
		return 0;
	cert_explain(why, &der, rc);
	return error_set(err, ERR_UNSUPPORTED, "%s", why);
}

static int parse_client_key(mbedtls_pk_context *ret, const char *pem, struct error *err)
{
	int rc;

	if (!strstr(pem, "PRIVATE KEY-----"))
		return error_set(err, ERR_FORMAT, "contains no private key in PEM");
	rc = mbedtls_pk_parse_key(ret, (const unsigned char *)pem, strlen(pem) + 1, NULL,
				  0, crypto_random, NULL);
	if (!rc)
		return 0;
	if (strstr(pem, "-----BEGIN ENCRYPTED ") || strstr(pem, ",ENCRYPTED"))
		return error_set(err, ERR_UNSUPPORTED,
				 "the key is encrypted, which is not supported; decrypt "
				 "it, such as with 'openssl pkey'");
	return error_set(err, ERR_UNSUPPORTED,
			 "the key cannot be read; supported: %s, in PKCS#1, PKCS#8 "
			 "or SEC 1",
			 CERT_SUPPORTED);
}

int x509_check_client(const char *cert_pem, const char *key_pem, bool *ret_of_key,
		      struct error *err)
{
	cleanup_pk mbedtls_pk_context key;
	cleanup_crt mbedtls_x509_crt crt;

	mbedtls_pk_init(&key);
	mbedtls_x509_crt_init(&crt);
	*ret_of_key = false;
	if (crypto_start(err) || parse_leaf(&crt, cert_pem, err))
		return -1;
	*ret_of_key = true;
	if (parse_client_key(&key, key_pem, err))
		return -1;
	if (mbedtls_pk_check_pair(&crt.pk, &key, crypto_random, NULL))
		return error_set(err, ERR_INVALID,
				 "the key does not belong to the certificate");
	return 0;
}

int x509_check_bundle(const char *pem, struct error *err)
{
	cleanup_crt mbedtls_x509_crt crt;
	struct cert_count count;

	mbedtls_x509_crt_init(&crt);
	if (crypto_start(err))
		return -1;
	cert_read_pem(&crt, pem, &count);
	if (count.used)
		return 0;
	return error_set(err, ERR_FORMAT, "%s",
			 count.skipped ? count.why : "contains no certificate in PEM");
}

int x509_expiry(int64_t *ret, const char *cert_pem, struct error *err)
{
	cleanup_crt mbedtls_x509_crt crt;

	mbedtls_x509_crt_init(&crt);
	if (parse_certs(&crt, cert_pem, "the certificate", err))
		return -1;
	*ret = seconds_of(&crt.valid_to);
	return 0;
}
