/*
 * Certificates of strangers, as a server sends them and as files have them: names,
 * extensions and chains of any bytes. What is refused is explained; what is in the pool is
 * never of an unknown CA; explanations are printable and end.
 */
#include <string.h>

#include <mbedtls/x509_crt.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "crypto/cert.h"
#include "crypto/crypto.h"
#include "crypto/trust.h"
#include "crypto/x509.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const char *text, size_t size)
{
	cleanup_arena struct arena arena = { 0 };

	FUZZ_CHECK(strnlen(text, size) < size);
	FUZZ_CHECK(!strcmp(str_visible(&arena, text, false), text));
}

/* The chain is its own pool, or the last of it is. */
static void check_trust(const char *chain_pem, const char *pool_pem, const char *host)
{
	struct trust_check check = { .host = host };
	mbedtls_x509_crt chain, none;
	struct trust *trust = NULL;
	struct cert_count count;
	struct error err = { 0 };
	uint32_t flags = 0;

	mbedtls_x509_crt_init(&chain);
	mbedtls_x509_crt_init(&none);
	cert_read_pem(&chain, chain_pem, &count);
	check_text(count.why, sizeof(count.why));
	if (trust_new(&trust, pool_pem, &err)) {
		FUZZ_CHECK(err.kind && *err.msg);
	} else if (count.used) {
		int rc;

		check.trust = trust;
		rc = mbedtls_x509_crt_verify(&chain, &none, NULL, host, &flags,
					     trust_verify, &check);
		FUZZ_CHECK(!rc == !*check.why);
		FUZZ_CHECK(rc || !check.unknown_ca);
		FUZZ_CHECK(!check.unknown_ca || pool_pem != chain_pem);
		check_text(check.why, sizeof(check.why));
	}
	trust_free(trust);
	mbedtls_x509_crt_free(&chain);
}

/* One in DER, which may have names that no PEM text would bring here. */
static void check_der(const uint8_t *data, size_t size)
{
	struct cert_extensions extensions;
	char why[CERT_WHY];
	cleanup_buf struct buf der = { .max = CERT_MAX_DER };
	mbedtls_x509_crt crt;
	int rc;

	mbedtls_x509_crt_init(&crt);
	buf_add(&der, data, size);
	rc = der.data ? crypto_parse_certificate(&crt, der.data, der.len) : -1;
	cert_extensions(&extensions, &crt);
	FUZZ_CHECK(!extensions.constraints || extensions.constraints_len <= size);
	if (rc && der.data) {
		cert_explain(why, &der, rc);
		check_text(why, sizeof(why));
	}
	mbedtls_x509_crt_free(&crt);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	const char *text = str_slice(&arena, (const char *)data, size);
	const char *last = text, *next;
	struct error err = { 0 };
	bool of_key;

	if (crypto_start(&err) || size > CERT_MAX_DER)
		return 0;
	check_der(data, size);
	for (next = text; (next = strstr(next, "-----BEGIN CERT")); next++)
		last = next;
	check_trust(text, text, "a.example");
	check_trust(text, last, "127.0.0.1");
	if (x509_check_client(text, text, &of_key, &err))
		FUZZ_CHECK(err.kind && *err.msg);
	return 0;
}
