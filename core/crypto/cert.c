/* cert.c - reads PEM and extensions, explains errors of mbedTLS (crypto/cert.h). */
#include "crypto/cert.h"

#include <stdio.h>
#include <string.h>

#include <mbedtls/asn1.h>
#include <mbedtls/error.h>
#include <mbedtls/oid.h>
#include <mbedtls/x509_crt.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "crypto/crypto.h"

#define BEGIN    "-----BEGIN CERTIFICATE-----"
#define END      "-----END CERTIFICATE-----"
#define SEQUENCE (MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE)

/* ---- PEM ------------------------------------------------------------------------ */

/* Decode base64 with line breaks; any other character is an error. */
static int decode(struct buf *ret_der, const char *text, const char *end)
{
	cleanup_buf struct buf bare = { .max = CERT_MAX_PEM };

	for (const char *p = text; p < end; p += strcspn(p, "\r\n")) {
		p += strspn(p, " \t\r\n");
		if (p < end)
			buf_add(&bare, p, strcspn(p, " \t\r\n"));
		p += p < end ? strcspn(p, " \t\r\n") : 0;
	}
	buf_clear(ret_der);
	if (!bare.len || bare.overflowed)
		return -1;
	return base64_decode(ret_der, (char *)bare.data, bare.len, IGNORED);
}

/* After a BEGIN without an END, the block begins at the last BEGIN before the END. */
bool cert_next_pem(const char **pem, struct buf *ret_der)
{
	for (const char *begin = strstr(*pem, BEGIN); begin;
	     begin = strstr(*pem, BEGIN)) {
		const char *end = strstr(begin, END), *next;

		if (!end)
			break;
		for (next = begin; next && next < end; next = strstr(begin, BEGIN))
			begin = next + strlen(BEGIN);
		*pem = end + strlen(END);
		if (!decode(ret_der, begin, end))
			return true;
	}
	*pem += strlen(*pem);
	return false;
}

/* ---- errors of the parser ------------------------------------------------------- */

static const struct {
	const char *oid, *name;
} algorithms[] = {
	{ "1.3.101.112", "Ed25519" },
	{ "1.3.101.113", "Ed448" },
	{ "1.2.840.113549.1.1.1", "RSA" },
	{ "1.2.840.113549.1.1.10", "RSASSA-PSS" },
	{ "1.2.840.10040.4.1", "DSA" },
	{ "1.2.840.10040.4.3", "DSA" },
	{ "2.16.840.1.101.3.4.3.2", "DSA" },
	{ "1.2.840.113549.1.1.2", "RSA with MD2" },
	{ "1.2.840.113549.1.1.4", "RSA with MD5" },
	{ "1.2.156.10197.1.501", "SM2" },
	{ "2.16.840.1.101.3.4.3.17", "ML-DSA-44" },
	{ "2.16.840.1.101.3.4.3.18", "ML-DSA-65" },
	{ "2.16.840.1.101.3.4.3.19", "ML-DSA-87" },
	{ "1.3.132.0.10", "ECDSA with secp256k1" },
	{ "1.3.132.0.33", "ECDSA with P-224" },
};

static void name_of(char ret[CERT_OID], const mbedtls_asn1_buf *oid)
{
	if (mbedtls_oid_get_numeric_string(ret, CERT_OID, oid) < 0)
		snprintf(ret, CERT_OID, "unknown");
	for (size_t i = 0; i < N_ELEMENTS(algorithms); i++)
		if (!strcmp(algorithms[i].oid, ret))
			snprintf(ret, CERT_OID, "%s", algorithms[i].name);
}

/* Skip one ASN.1 element. */
static int skip(unsigned char **p, const unsigned char *end)
{
	size_t len;

	if (*p >= end)
		return -1;
	if (mbedtls_asn1_get_tag(p, end, &len, **p))
		return -1;
	*p += len;
	return 0;
}

static int enter(unsigned char **p, const unsigned char **end)
{
	size_t len;

	if (mbedtls_asn1_get_tag(p, *end, &len, SEQUENCE))
		return -1;
	*end = *p + len;
	return 0;
}

/* The name of an AlgorithmIdentifier; of an EC key, that of its curve. */
static int algorithm(char ret[CERT_OID], unsigned char **p, const unsigned char *end)
{
	mbedtls_asn1_buf oid, curve;
	unsigned char *at = *p;

	if (skip(p, end) || enter(&at, &end) ||
	    mbedtls_asn1_get_tag(&at, end, &oid.len, MBEDTLS_ASN1_OID))
		return -1;
	oid.p = at;
	at += oid.len;
	if (!MBEDTLS_OID_CMP(MBEDTLS_OID_EC_ALG_UNRESTRICTED, &oid) &&
	    !mbedtls_asn1_get_tag(&at, end, &curve.len, MBEDTLS_ASN1_OID)) {
		curve.p = at;
		name_of(ret, &curve);
		return 0;
	}
	name_of(ret, &oid);
	return 0;
}

/* The algorithms of a certificate's signature and key (RFC 5280, 4.1). */
static int algorithms_of(char ret_signature[CERT_OID], char ret_key[CERT_OID],
			 const struct buf *der)
{
	unsigned char *p = der->data;
	const unsigned char *end = p + der->len;

	if (enter(&p, &end) || enter(&p, &end))
		return -1;
	if (p < end && *p == (MBEDTLS_ASN1_CONTEXT_SPECIFIC | MBEDTLS_ASN1_CONSTRUCTED) &&
	    skip(&p, end))
		return -1;
	if (skip(&p, end) || algorithm(ret_signature, &p, end) || skip(&p, end) ||
	    skip(&p, end) || skip(&p, end) || enter(&p, &end))
		return -1;
	return algorithm(ret_key, &p, end);
}

static bool is_code(int rc, int high)
{
	return (-rc & ~0x7f) == -high || rc == high;
}

void cert_explain(char ret_why[CERT_WHY], const struct buf *der, int rc)
{
	char signature[CERT_OID], key[CERT_OID], text[120] = "";
	bool known = !algorithms_of(signature, key, der);

	mbedtls_strerror(rc, text, sizeof(text));
	if (known && is_code(rc, MBEDTLS_ERR_X509_UNKNOWN_SIG_ALG))
		snprintf(ret_why, CERT_WHY,
			 "its signature is %s, which is not supported (supported: %s)",
			 signature, CERT_SUPPORTED);
	else if (known && (is_code(rc, MBEDTLS_ERR_PK_UNKNOWN_PK_ALG) ||
			   is_code(rc, MBEDTLS_ERR_PK_UNKNOWN_NAMED_CURVE)))
		snprintf(ret_why, CERT_WHY,
			 "its key is %s, which is not supported (supported: %s)", key,
			 CERT_SUPPORTED);
	else
		snprintf(ret_why, CERT_WHY, "not a certificate: %s", text);
}

void cert_read_pem(mbedtls_x509_crt *chain, const char *pem, struct cert_count *ret)
{
	cleanup_buf struct buf der = { .max = CERT_MAX_DER };
	char why[CERT_WHY];

	*ret = (struct cert_count){ 0 };
	while (cert_next_pem(&pem, &der)) {
		int rc = crypto_parse_certificate(chain, der.data, der.len);

		if (!rc) {
			ret->used++;
			continue;
		}
		if (!ret->skipped++) {
			cert_explain(why, &der, rc);
			snprintf(ret->why, sizeof(ret->why), "certificate %zu: %.200s",
				 ret->used + 1, why);
		}
	}
}

/* ---- extensions ----------------------------------------------------------------- */

/* True for the extensions id-ce-* that Go handles, by the last number of 2.5.29.*. */
static bool is_known(const mbedtls_asn1_buf *oid)
{
	static const unsigned char known[] = { 14, 15, 17, 19, 30, 31,
					       32, 33, 35, 36, 37, 54 };

	return oid->len == 3 && oid->p[0] == 0x55 && oid->p[1] == 0x1d &&
	       memchr(known, oid->p[2], sizeof(known));
}

static int extension(unsigned char **p, const unsigned char *end, mbedtls_asn1_buf *oid,
		     mbedtls_asn1_buf *value, int *critical)
{
	*critical = 0;
	if (enter(p, &end) || mbedtls_asn1_get_tag(p, end, &oid->len, MBEDTLS_ASN1_OID))
		return -1;
	oid->p = *p;
	*p += oid->len;
	if (*p < end && **p == MBEDTLS_ASN1_BOOLEAN &&
	    mbedtls_asn1_get_bool(p, end, critical))
		return -1;
	if (mbedtls_asn1_get_tag(p, end, &value->len, MBEDTLS_ASN1_OCTET_STRING))
		return -1;
	value->p = *p;
	*p += value->len;
	return 0;
}

void cert_extensions(struct cert_extensions *ret, const mbedtls_x509_crt *crt)
{
	unsigned char *p = crt->v3_ext.p;
	const unsigned char *end;
	mbedtls_asn1_buf oid, value;
	int critical;

	*ret = (struct cert_extensions){ 0 };
	if (!p)
		return;
	end = p + crt->v3_ext.len;
	if (enter(&p, &end))
		return;
	while (p < end && !extension(&p, end, &oid, &value, &critical)) {
		if (critical && !is_known(&oid) && !*ret->unknown)
			name_of(ret->unknown, &oid);
		if (oid.len == 3 && !memcmp(oid.p, "\x55\x1d\x1e", 3)) {
			ret->constraints = value.p;
			ret->constraints_len = value.len;
			ret->constraints_critical = critical;
		}
	}
}
