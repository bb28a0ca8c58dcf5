#include "crypto/tls.h"

#include <sys/stat.h>

#include "crypto/x509.h"
#include "tests/unit/base/base_test.h"
#include "tests/unit/command.h"
#include "tests/unit/net/client.h"

struct fixture {
	struct world w;
	struct command c;
	struct tls_server *tls;
	const struct x509_pair *ca; /* of all tests */
};

static void new_identity(struct fixture *f, struct x509_pair *p)
{
	int64_t now = clock_now();
	struct error err = { 0 };

	assert_int_equal(x509_new_server(p, f->ca, "localhost", now, now + 3600, &err),
			 0);
}

/* A server that has a certificate, and its CA in a file. */
static void start(struct fixture *f, struct tls_conf tls, struct httpd_conf conf)
{
	cleanup_x509_pair struct x509_pair p = { 0 };
	struct error err = { 0 };

	new_identity(f, &p);
	assert_int_equal(tls_server_new(&f->tls, &tls, &err), 0);
	assert_false(tls_server_ready(f->tls));
	assert_int_equal(tls_server_identity(f->tls, p.cert_pem, p.key_pem, &err), 0);
	assert_true(tls_server_ready(f->tls));
	conf.tls = f->tls;
	world_start(&f->w, conf);
	command_file(&f->c, "ca.crt", f->ca->cert_pem);
}

static void stop(struct fixture *f)
{
	world_stop(&f->w);
	tls_server_free(f->tls);
	command_release(&f->c);
}

/* curl with these options: its exit status. What it prints in f->c.text. */
static int fetch(struct fixture *f, const char *options, const char *path)
{
	cleanup_arena struct arena a = { 0 };

	return command_status(
		&f->c, arena_printf(&a,
				    "curl -sS --noproxy '*' --max-time 30 --cacert "
				    "ca.crt --resolve localhost:%d:127.0.0.1 %s "
				    "https://localhost:%d%s",
				    f->w.port, options, f->w.port, path));
}

/* openssl s_client; what it says about the connection in f->c.text. */
static int handshake(struct fixture *f, const char *options)
{
	cleanup_arena struct arena a = { 0 };

	return command_status(&f->c,
			      arena_printf(&a,
					   "openssl s_client -connect 127.0.0.1:%d "
					   "-CAfile ca.crt %s",
					   f->w.port, options));
}

#define GONE 35 /* curl: the handshake failed */

enum { SHORT_MS = 300 }; /* the time that a handshake may take, in tests of slow peers */

/*
 * fetch() from a server with idle_ms = SHORT_MS: repeated where this machine was too slow
 * for the handshake. A failure before SHORT_MS is the server's.
 */
static int fetch_in_time(struct fixture *f, const char *path)
{
	int64_t until = clock_ms() + PATIENCE_MS;

	for (;;) {
		int64_t began = clock_ms();
		int rc = fetch(f, "", path);

		if (!rc || clock_ms() - began < SHORT_MS || clock_ms() > until)
			return rc;
	}
}

TEST(test_curl)
{
	struct fixture f = { .ca = *state };

	command_setup(&f.c, "curl");
	start(&f, (struct tls_conf){ 0 }, (struct httpd_conf){ .max_body = 1 << 20 });
	for (int v = 2; v <= 3; v++) {
		cleanup_arena struct arena a = { 0 };
		const char *version = arena_printf(&a, "--tlsv1.%d --tls-max 1.%d", v, v);

		assert_int_equal(fetch(&f, version, "/x?y=z"), 0);
		assert_string_equal(f.c.text, "<GET /x y=z 0 127.0.0.1 none>");
		/* Over several records, in both directions. */
		command_run(&f.c, "head -c 300000 /dev/zero | tr '\\0' x >body");
		assert_int_equal(
			fetch(&f,
			      arena_printf(&a, "%s --data-binary @body -o answer",
					   version),
			      "/x"),
			0);
		command_run(&f.c, "tail -c 300000 answer | cmp - body");
		assert_int_equal(fetch(&f,
				       arena_printf(&a,
						    "%s -T body -H 'Transfer-Encoding: "
						    "chunked' -o answer",
						    version),
				       "/x"),
				 0);
		command_run(&f.c, "tail -c 300000 answer | cmp - body");
		assert_int_equal(
			fetch(&f, arena_printf(&a, "%s -o answer", version), "/big"), 0);
		command_run(&f.c, "stat -c %s answer");
		assert_string_equal(f.c.text, "8388480\n");
	}
	assert_int_equal(fetch(&f, "--tls-max 1.1 --ciphers ALL@SECLEVEL=0", "/"), GONE);
	/* Two requests, one connection. */
	assert_int_equal(
		command_status(&f.c, "true") ||
			fetch(&f, "-o /dev/null -w '%{num_connects} '", "/[1-3]"),
		0);
	assert_string_equal(f.c.text, "1 0 0 ");
	stop(&f);
}

/* Certificates that are of the right CA, of another one, and none, over both versions. */
TEST(test_client_certificates)
{
	static const struct {
		const char *options;
		bool accepted;
	} rows[] = {
		{ "", false },
		{ "--cert client.crt --key client.key", true },
		{ "--cert other.crt --key other.key", false },
		/* with a critical extension that nobody knows, and with name constraints */
		{ "--cert odd.crt --key client.key", false },
		{ "--cert limited.crt --key client.key", false },
	};
	static const char *const versions[] = { "--tls-max 1.2", "--tlsv1.3" };
	static const char make[] = "for n in client other; do "
				   "openssl ecparam -name prime256v1 -genkey -noout "
				   "-out $n-ca.key && openssl req -x509 -new -key "
				   "$n-ca.key -subj /CN=$n-ca -days 1 -out $n-ca.crt && "
				   "openssl ecparam -name prime256v1 -genkey -noout "
				   "-out $n.key && openssl req -new -key $n.key "
				   "-subj /CN=$n -out $n.csr && openssl x509 -req -in "
				   "$n.csr -CA $n-ca.crt -CAkey $n-ca.key "
				   "-CAcreateserial -days 1 -out $n.crt; done; "
				   "echo 1.2.3.4=critical,DER:0500 >odd.ext; echo "
				   "'nameConstraints=critical,permitted;DNS:a' "
				   ">limited.ext; for n in odd limited; do openssl x509 "
				   "-req -in client.csr -CA client-ca.crt -CAkey "
				   "client-ca.key -CAcreateserial -days 1 -extfile "
				   "$n.ext -out $n.crt; done";
	struct fixture f = { .ca = *state };
	struct tls_client_ca *ca = NULL;
	cleanup_arena struct arena a = { 0 };
	struct error err = { 0 };

	command_setup(&f.c, "openssl");
	command_run(&f.c, make);
	command_run(&f.c, "cat client-ca.crt");
	assert_int_equal(tls_client_ca_new(&ca, f.c.text, &err), 0);
	start(&f, (struct tls_conf){ 0 }, (struct httpd_conf){ .client_ca = ca });
	for (size_t v = 0; v < N_ELEMENTS(versions); v++)
		for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
			const char *options =
				arena_printf(&a, "%s %s -o answer -w %%{http_code}",
					     versions[v], rows[i].options);

			print_message("# %s\n", options);
			assert_int_equal(fetch(&f, options, "/x") == 0, rows[i].accepted);
		}
	stop(&f);
	tls_client_ca_free(ca);
	assert_int_equal(tls_client_ca_new(&ca, "no PEM", &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
}

TEST(test_settings)
{
	static const char *const gcm256[] = { "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
					      "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
					      NULL };
	static const char *const h2[] = { "h2", NULL };
	static const struct {
		struct tls_conf conf;
		const char *options; /* of s_client */
		int fails;
		const char *says; /* NULL: whatever */
	} rows[] = {
		{ { 0 }, "-tls1_2", 0, "Cipher is ECDHE-ECDSA-AES128-GCM-SHA256" },
		{ { 0 }, "-tls1_3", 0, "TLSv1.3, Cipher is TLS_AES_" },
		{ { 0 }, "-tls1_1 -cipher ALL@SECLEVEL=0", 1, NULL },
		{ { 0 }, "-alpn h2,http/1.1", 0, "ALPN protocol: http/1.1" },
		{ { 0 }, "-alpn h2", 1, "alert" },
		{ { 0 }, "-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA", 1, "alert" },
		{ { 0 }, "-tls1_2 -cipher ECDHE-ECDSA-CHACHA20-POLY1305", 0, "CHACHA20" },
		{ { 0 }, "-verify_return_error -verify_hostname localhost", 0, "Verify" },
		{ { .min_version = TLS_1_2 }, "-tls1_2", 0, NULL },
		{ { .min_version = TLS_1_3 }, "-tls1_3", 0, NULL },
		{ { .min_version = TLS_1_3 }, "-tls1_2", 1, "alert protocol version" },
		{ { .ciphers = gcm256 },
		  "-tls1_2",
		  0,
		  "Cipher is ECDHE-ECDSA-AES256-GCM-SHA384" },
		{ { .ciphers = gcm256 },
		  "-tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256",
		  1,
		  "alert handshake failure" },
		{ { .ciphers = gcm256 }, "-tls1_3", 0, "TLS_AES_" },
		{ { .alpn = h2 }, "-alpn h2", 0, "ALPN protocol: h2" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct fixture f = { .ca = *state };
		int status;

		command_setup(&f.c, "openssl");
		start(&f, rows[i].conf, (struct httpd_conf){ 0 });
		/* What it sends never was a request, and -tls1_1 has to be let do so. */
		status = handshake(&f, rows[i].options);
		if (!status != !rows[i].fails ||
		    (rows[i].says && !strstr(f.c.text, rows[i].says)))
			fail_msg("%zu: %s: status %d: %s", i, rows[i].options, status,
				 f.c.text);
		stop(&f);
	}
}

TEST(test_ciphers)
{
	static const char *const unknown[] = { "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
					       NULL };
	struct tls_server *s = NULL;
	struct error err = { 0 };

	assert_true(tls_knows_cipher("TLS_AES_128_GCM_SHA256"));
	assert_true(tls_knows_cipher("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305"));
	assert_true(tls_knows_cipher("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"));
	assert_false(tls_knows_cipher("TLS_RSA_WITH_AES_128_GCM_SHA256"));
	assert_false(tls_knows_cipher("ECDHE-RSA-AES128-GCM-SHA256"));
	assert_false(tls_knows_cipher(""));
	assert_int_equal(
		tls_server_new(&s, &(struct tls_conf){ .ciphers = unknown }, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_null(s);
	tls_server_free(NULL);
}

/* Other people's certificates: which keys, and what is none. */
TEST(test_identities)
{
	static const struct {
		const char *key; /* how openssl makes it */
		bool good;
	} rows[] = {
		{ "genrsa -traditional -out key 2048", true },
		{ "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072 -out key", true },
		{ "ecparam -name prime256v1 -genkey -noout -out key", true },
		{ "ecparam -name secp384r1 -genkey -out key", true },
		{ "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-521 -out key",
		  true },
		{ "ecparam -name brainpoolP256r1 -genkey -noout -out key", false },
		{ "genpkey -algorithm ed25519 -out key", false },
	};
	cleanup_arena struct arena a = { 0 };
	cleanup_x509_pair struct x509_pair p = { 0 }, q = { 0 };
	struct fixture f = { .ca = *state };
	struct error err = { 0 };

	command_setup(&f.c, "openssl");
	start(&f, (struct tls_conf){ 0 }, (struct httpd_conf){ 0 });
	new_identity(&f, &p);
	new_identity(&f, &q);
	assert_int_equal(tls_server_identity(f.tls, p.cert_pem, q.key_pem, &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
	assert_non_null(strstr(err.msg, "another key"));
	assert_int_equal(tls_server_identity(f.tls, "", q.key_pem, &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
	assert_int_equal(tls_server_identity(f.tls, p.cert_pem, "nonsense", &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
	assert_null(strstr(err.msg, "nonsense"));
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_free char *key = NULL, *cert = NULL;
		int rc;

		command_run(&f.c,
			    arena_printf(&a,
					 "openssl %s && openssl req -x509 -new "
					 "-key key -days 9 -subj /CN=localhost -addext "
					 "subjectAltName=DNS:localhost -out ca.crt",
					 rows[i].key));
		key = command_read(&f.c, "key");
		cert = command_read(&f.c, "ca.crt");
		rc = tls_server_identity(f.tls, cert, key, &err);
		assert_int_equal(rc, rows[i].good ? 0 : -1);
		for (int v = 2; rows[i].good && v <= 3; v++) {
			if (handshake(&f, v == 2 ? "-tls1_2 -verify_return_error"
						 : "-tls1_3 -verify_return_error"))
				fail_msg("%s: %s", rows[i].key, f.c.text);
		}
	}
	stop(&f);
}

TEST(test_not_ready)
{
	struct world w = { 0 };
	struct tls_server *s = NULL;
	struct error err = { 0 };
	int fd;

	assert_int_equal(tls_server_new(&s, &(struct tls_conf){ 0 }, &err), 0);
	world_start(&w, (struct httpd_conf){ .tls = s });
	fd = client_connect(w.port, NULL);
	assert_true(client_is_cut(fd));
	close(fd);
	world_stop(&w);
	tls_server_free(s);
}

static void get_serial(struct fixture *f, char ret[128])
{
	const char *at;

	assert_int_equal(
		handshake(f, "-verify_return_error | openssl x509 -noout -serial"), 0);
	at = strstr(f->c.text, "serial=");
	assert_non_null(at);
	snprintf(ret, 128, "%.100s", at);
}

/* A connection keeps what it began with; the next one has the new certificate. */
TEST(test_swap)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_x509_pair struct x509_pair p = { 0 };
	struct fixture f = { .ca = *state };
	struct error err = { 0 };
	char before[128], after[128];
	FILE *client;
	int64_t until = clock_ms() + PATIENCE_MS;

	command_setup(&f.c, "openssl");
	start(&f, (struct tls_conf){ 0 }, (struct httpd_conf){ 0 });
	get_serial(&f, before);
	client = popen(arena_printf(&a,
				    "cd %s && openssl s_client -quiet -CAfile ca.crt "
				    "-connect 127.0.0.1:%d >out 2>&1",
				    f.c.dir, f.w.port),
		       "w");
	fputs("GET /1 HTTP/1.1\r\n" H "\r\n", client);
	fflush(client);
	while (f.w.handled < 1 && clock_ms() < until)
		clock_sleep_ms(5);
	new_identity(&f, &p);
	assert_int_equal(tls_server_identity(f.tls, p.cert_pem, p.key_pem, &err), 0);
	fputs("GET /2 HTTP/1.1\r\n" H "Connection: close\r\n\r\n", client);
	fflush(client);
	while (f.w.handled < 2 && clock_ms() < until)
		clock_sleep_ms(5);
	pclose(client);
	command_run(&f.c, "cat out");
	assert_non_null(strstr(f.c.text, "<GET /1 "));
	assert_non_null(strstr(f.c.text, "<GET /2 "));
	get_serial(&f, after);
	assert_string_not_equal(after, before);
	stop(&f);
}

struct swapper {
	struct fixture *f;
	struct x509_pair pairs[2];
	atomic_bool done, failed;
};

static void *swap_main(void *ctx)
{
	struct swapper *s = ctx;
	struct error err = { 0 };

	for (int i = 0; !s->done; i++)
		s->failed |= tls_server_identity(s->f->tls, s->pairs[i % 2].cert_pem,
						 s->pairs[i % 2].key_pem, &err) != 0;
	return NULL;
}

/* Many handshakes at once, while the certificate changes all the time. */
TEST(test_swap_under_load)
{
	struct fixture f = { .ca = *state };
	struct swapper s = { .f = &f };
	pthread_t thread;

	command_setup(&f.c, "curl");
	start(&f, (struct tls_conf){ 0 }, (struct httpd_conf){ 0 });
	new_identity(&f, &s.pairs[0]);
	new_identity(&f, &s.pairs[1]);
	pthread_create(&thread, NULL, swap_main, &s);
	assert_int_equal(
		fetch(&f,
		      "--fail-early -Z --parallel-immediate --parallel-max 16 -H "
		      "'Connection: close' -o /dev/null -w '%{http_code} ' 2>err",
		      "/[1-150]"),
		0);
	s.done = true;
	pthread_join(thread, NULL);
	assert_false(s.failed);
	assert_int_equal(f.w.handled, 150);
	if (strlen(f.c.text) != 150 * 4)
		fail_msg("%s", f.c.text);
	x509_pair_release(&s.pairs[0]);
	x509_pair_release(&s.pairs[1]);
	stop(&f);
}

/* What no TLS client would send, from one that resets or stops in the middle. */
TEST(test_bad_peers)
{
	static const struct {
		const char *data;
		size_t len;
	} rows[] = {
		{ "", 0 },
		{ "GET / HTTP/1.1\r\n\r\n", 18 },
		{ "\x16\x03\x01", 3 },
		{ "\x16\x03\x01\xff\xff", 5 },
		{ "\x16\x03\x01\x00\x00", 5 },
		{ "\x16\x03\x01\x00\x04\x01\x00\x00\x00", 9 },
		{ "\x16\x03\x01\x00\x04\x01\xff\xff\xff", 9 },
		{ "\x15\x03\x01\x00\x02\x02\x28", 7 },
		{ "\x17\x03\x03\x00\x05hello", 10 },
		{ "\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10", 11 },
		{ "\0\0\0\0\0\0\0\0\0\0", 10 },
	};
	struct fixture f = { .ca = *state };
	int fds[N_ELEMENTS(rows)];

	command_setup(&f.c, "curl");
	start(&f, (struct tls_conf){ 0 }, (struct httpd_conf){ .idle_ms = SHORT_MS });
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct linger now = { .l_onoff = 1 };
		int fd = client_connect(f.w.port, NULL);

		client_send(fd, rows[i].data, rows[i].len);
		clock_sleep_ms(i % 2 ? 5 : 0);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close(fd);
		fds[i] = client_connect(f.w.port, NULL);
		client_send(fds[i], rows[i].data, rows[i].len);
	}
	/* Each is cut off when a handshake has had its time. */
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_buf struct buf out = { .max = 65536 };

		client_read_all(fds[i], &out);
		assert_null(strstr((char *)out.data, "HTTP"));
		close(fds[i]);
	}
	assert_int_equal(f.w.handled, 0);
	assert_int_equal(fetch_in_time(&f, "/"), 0);
	stop(&f);
}

/* A byte now and then, of a handshake. */
TEST(test_slow_handshake)
{
	struct fixture f = { .ca = *state };
	int64_t until = clock_ms() + PATIENCE_MS;
	struct pollfd p = { .events = POLLIN };

	snprintf(f.c.dir, sizeof(f.c.dir), "/tmp/net-test-XXXXXX");
	assert_non_null(mkdtemp(f.c.dir));
	start(&f, (struct tls_conf){ 0 }, (struct httpd_conf){ .idle_ms = SHORT_MS });
	p.fd = client_connect(f.w.port, NULL);
	client_send(p.fd, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
	while (poll(&p, 1, 20) == 0 && client_say(p.fd, "a"))
		assert_true(clock_ms() < until);
	assert_true(client_is_cut(p.fd));
	close(p.fd);
	stop(&f);
}

static int setup(void **state)
{
	struct x509_pair *ca = calloc(1, sizeof(*ca));
	int64_t now = clock_now();
	struct error err = { 0 };

	*state = ca;
	return x509_new_ca(ca, "ca", "tests", now, now + 3600, &err);
}

static int teardown(void **state)
{
	x509_pair_release(*state);
	free(*state);
	return 0;
}

RUN_TESTS(setup, teardown)
