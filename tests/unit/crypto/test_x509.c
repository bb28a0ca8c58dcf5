#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "crypto/x509.h"
#include "tests/unit/command.h"
#include "tests/unit/unit.h"

#define NAME "trainer.kubeflow-system.svc"
enum { DAY = 24 * 3600 };
static const int64_t YEAR = 365LL * DAY;

static void new_ca(struct x509_pair *ca, int64_t now)
{
	struct error err = { 0 };

	assert_int_equal(x509_new_ca(ca, "an-example-ca", "an, example=1", now,
				     now + 10 * YEAR, &err),
			 0);
}

static void new_server(struct x509_pair *p, const struct x509_pair *ca, int64_t now)
{
	struct error err = { 0 };

	if (x509_new_server(p, ca, NAME, now, now + YEAR, &err))
		fail_msg("%s", err.msg);
}

TEST(test_p256_ca)
{
	cleanup_x509_pair struct x509_pair ca = { 0 }, p = { 0 };
	int64_t now = clock_now();
	struct error err = { 0 };

	assert_int_equal(x509_new_p256_ca(&ca, "quick", "tests", now, now + YEAR, &err),
			 0);
	assert_non_null(strstr(ca.key_pem, "BEGIN EC PRIVATE KEY"));
	new_server(&p, &ca, now);
	assert_int_equal(x509_check_ca(&ca, now, &err), 0);
	assert_int_equal(x509_check_server(&p, ca.cert_pem, NAME, now, &err), 0);
}

TEST(test_own_checks)
{
	cleanup_x509_pair struct x509_pair ca = { 0 }, p = { 0 }, other = { 0 };
	int64_t now = clock_now(), expiry = 0;
	struct error err = { 0 };

	new_ca(&ca, now);
	new_ca(&other, now);
	new_server(&p, &ca, now);
	assert_non_null(strstr(ca.key_pem, "BEGIN RSA PRIVATE KEY"));
	assert_non_null(strstr(p.key_pem, "BEGIN EC PRIVATE KEY"));
	assert_int_equal(x509_check_ca(&ca, now, &err), 0);
	assert_int_equal(x509_check_server(&p, ca.cert_pem, NAME, now, &err), 0);
	assert_int_equal(x509_check_server(&p, ca.cert_pem, NAME, now - 3000, &err), 0);
	assert_int_equal(x509_expiry(&expiry, p.cert_pem, &err), 0);
	assert_int_equal(expiry, now + YEAR);

	/* Times are the caller's, not the clock's. */
	assert_int_equal(x509_check_server(&p, ca.cert_pem, NAME, now + YEAR + 1, &err),
			 -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.msg, "expires at"));
	assert_int_equal(x509_check_server(&p, ca.cert_pem, NAME, now - DAY, &err), -1);
	assert_non_null(strstr(err.msg, "not valid before"));
	assert_int_equal(x509_check_ca(&ca, now + 11 * YEAR, &err), -1);
	assert_non_null(strstr(err.msg, "expires at"));

	assert_int_equal(x509_check_server(&p, ca.cert_pem, "x.svc", now, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.msg, "for another name"));
	/* Equal names of the CAs, another key. */
	assert_int_equal(x509_check_server(&p, other.cert_pem, NAME, now, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.msg, "signed by another CA"));
	assert_int_equal(x509_check_ca(&p, now, &err), -1);
	assert_non_null(strstr(err.msg, "not a CA's"));
	/* A CA is no server. */
	assert_int_equal(x509_check_server(&ca, ca.cert_pem, NAME, now, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
}

TEST(test_other_key)
{
	cleanup_x509_pair struct x509_pair ca = { 0 }, p = { 0 }, q = { 0 };
	int64_t now = clock_now();
	struct error err = { 0 };
	struct x509_pair mixed;

	new_ca(&ca, now);
	new_server(&p, &ca, now);
	new_server(&q, &ca, now);
	mixed = (struct x509_pair){ p.cert_pem, q.key_pem };
	assert_int_equal(x509_check_server(&mixed, ca.cert_pem, NAME, now, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.msg, "another key"));
	mixed = (struct x509_pair){ ca.cert_pem, q.key_pem };
	assert_int_equal(x509_check_ca(&mixed, now, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	mixed.key_pem = NULL;
	assert_int_equal(x509_check_ca(&mixed, now, &err), 0);
	/* One that has already ended is made and refused like any other. */
	x509_pair_release(&q);
	assert_int_equal(x509_new_server(&q, &ca, NAME, now - 2 * DAY, now - DAY, &err),
			 0);
	assert_int_equal(x509_check_server(&q, ca.cert_pem, NAME, now, &err), -1);
	assert_non_null(strstr(err.msg, "expires at"));
}

TEST(test_not_pem)
{
	static const char *const rows[] = {
		"",
		"-----BEGIN CERTIFICATE-----\n",
		"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
		"-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n",
		"hello",
	};
	cleanup_x509_pair struct x509_pair ca = { 0 }, p = { 0 }, none = { 0 };
	int64_t now = clock_now(), expiry = 0;
	struct error err = { 0 };

	new_ca(&ca, now);
	new_server(&p, &ca, now);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct x509_pair cert = { (char *)rows[i], p.key_pem };
		struct x509_pair key = { p.cert_pem, (char *)rows[i] };

		assert_int_equal(x509_expiry(&expiry, rows[i], &err), -1);
		assert_int_equal(err.kind, ERR_FORMAT);
		assert_int_equal(x509_check_server(&cert, ca.cert_pem, NAME, now, &err),
				 -1);
		assert_int_equal(err.kind, ERR_FORMAT);
		assert_int_equal(x509_check_server(&key, ca.cert_pem, NAME, now, &err),
				 -1);
		assert_int_equal(err.kind, ERR_FORMAT);
		assert_int_equal(x509_check_server(&p, rows[i], NAME, now, &err), -1);
		assert_int_equal(err.kind, ERR_FORMAT);
		assert_int_equal(x509_check_ca(&cert, now, &err), -1);
		assert_int_equal(x509_new_server(&none, &cert, NAME, now, now, &err), -1);
	}
	assert_int_equal(x509_check_server(&none, ca.cert_pem, NAME, now, &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
}

/* What others think of them: the client's side of the webhooks is Go's and OpenSSL's. */
TEST(test_openssl)
{
	cleanup_x509_pair struct x509_pair ca = { 0 }, p = { 0 };
	struct command c = { 0 };
	int64_t now = clock_now();

	command_setup(&c, "openssl");
	for (int i = 0; i < 20; i++) {
		x509_pair_release(&p);
		if (i % 10 == 0) {
			x509_pair_release(&ca);
			new_ca(&ca, now);
		}
		new_server(&p, &ca, now);
		command_file(&c, "ca.crt", ca.cert_pem);
		command_file(&c, "tls.crt", p.cert_pem);
		command_file(&c, "tls.key", p.key_pem);
		command_run(&c, "openssl verify -x509_strict -purpose sslserver "
				"-verify_hostname " NAME " -CAfile ca.crt tls.crt");
		assert_non_null(strstr(c.text, "tls.crt: OK"));
	}
	command_run(&c, "openssl x509 -in tls.crt -noout -text");
	assert_non_null(strstr(c.text, "DNS:" NAME "\n"));
	assert_non_null(strstr(c.text, "TLS Web Server Authentication"));
	assert_non_null(strstr(c.text, "prime256v1"));
	assert_null(strstr(c.text, "(Negative)"));
	assert_non_null(strstr(c.text, "O = \"an, example=1\", CN = an-example-ca"));
	command_run(&c, "openssl x509 -in ca.crt -noout -text");
	assert_non_null(strstr(c.text, "CA:TRUE"));
	assert_non_null(strstr(c.text, "DNS:an-example-ca\n"));
	assert_non_null(strstr(c.text, "(2048 bit)"));
	command_release(&c);
}

/* A CA that Go made has other string types in its name; they are kept as they are. */
TEST(test_foreign_ca)
{
	cleanup_x509_pair struct x509_pair ca = { 0 }, p = { 0 };
	struct command c = { 0 };
	struct error err = { 0 };
	int64_t now;

	command_setup(&c, "openssl");
	command_run(
		&c,
		"printf '[req]\n"
		"string_mask=default\n"
		"distinguished_name=dn\n"
		"x509_extensions=v3\n"
		"prompt=no\n"
		"[dn]\n"
		"O=kubeflow-trainer\n"
		"CN=a.ca\n"
		"[v3]\n"
		"basicConstraints=critical,CA:TRUE\n"
		"keyUsage=critical,keyCertSign\n"
		"subjectKeyIdentifier=0102030405\n"
		"' >conf && openssl req -x509 -config conf -newkey rsa:2048 -nodes -days "
		"30 -keyout key8 -out ca.crt && openssl rsa -traditional -in key8 -out ca.key");
	ca.cert_pem = command_read(&c, "ca.crt");
	ca.key_pem = command_read(&c, "ca.key");
	now = clock_now(); /* openssl's certificate is valid from when it was made */
	assert_int_equal(x509_check_ca(&ca, now, &err), 0);
	new_server(&p, &ca, now);
	assert_int_equal(x509_check_server(&p, ca.cert_pem, NAME, now, &err), 0);
	command_file(&c, "tls.crt", p.cert_pem);
	command_run(&c, "openssl verify -x509_strict -purpose sslserver -CAfile ca.crt "
			"tls.crt && openssl asn1parse -in tls.crt && openssl x509 -in "
			"tls.crt -noout -ext authorityKeyIdentifier");
	assert_non_null(strstr(c.text, "tls.crt: OK"));
	assert_non_null(strstr(c.text, "PRINTABLESTRING   :kubeflow-trainer"));
	assert_non_null(strstr(c.text, "01:02:03:04:05"));
	command_release(&c);
}

RUN_TESTS(NULL, NULL)
