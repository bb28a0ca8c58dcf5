/*
 * kube_auth.c - credentials of a client: tokens, basic authentication, client
 * certificates, exec plugins.
 *
 * A token's file is read again when the token is a minute old or the server refuses it.
 * An exec plugin runs for the first request, and when its credential has expired or is
 * refused. A new client certificate needs a new http_client: a connection authenticates
 * as the certificate that opened it. So does a new CA, whose file is read again when a
 * server's certificate is not verified.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/x509.h"
#include "kube/kube_impl.h"

enum { TOKEN_MS = 60 * 1000, MAX_TOKEN = 64 * 1024, MAX_CA = 1024 * 1024 };

#define BLANKS " \t\r\n"

static int conn_new(struct kube *k, const char *cert_pem, const char *key_pem,
		    struct kube_conn **ret, struct error *err)
{
	struct http_conf conf = {
		.ca_pem = k->auth.ca_pem ? k->auth.ca_pem : k->config.ca_pem,
		.ca_setting = "certificate-authority",
		.cert_pem = cert_pem,
		.key_pem = key_pem,
		.server_name = k->config.tls_server_name,
		.proxy = k->config.proxy_url,
		.go_proxy = true,
		.user_agent = k->user_agent,
		.insecure = k->config.insecure,
		.http1 = k->opts.http1,
		.sessions = k->opts.sessions,
		.after_stop = k->opts.after_stop,
	};
	struct http_client *http;

	if (http_client_new(&http, &conf, err))
		return -1;
	*ret = xcalloc(1, sizeof(**ret));
	(*ret)->http = http;
	(*ret)->refs = 1;
	return 0;
}

static void conn_put(struct kube_conn *conn)
{
	if (!conn || --conn->refs)
		return;
	http_client_free(conn->http);
	free(conn);
}

static int token_of_file(const char *path, char **ret, struct error *err)
{
	cleanup_buf struct buf text = { .max = MAX_TOKEN };
	char *start, *end;

	buf_adds(&text, "");
	if (file_read(&text, path, err))
		return error_wrap(err, "the token's file");
	start = (char *)text.data;
	end = start + text.len;
	start += strspn(start, BLANKS);
	while (end > start && strchr(BLANKS, end[-1]))
		*--end = 0;
	if (*start && !strpbrk(start, "\r\n"))
		*ret = xstrdup(start);
	explicit_bzero(text.data, text.len);
	return *ret ? 0 : error_set(err, ERR_FORMAT, "%s: not a token", path);
}

/* Read the token's file. A failure is ignored while there is an older token. */
static int read_token(struct kube *k, struct error *err)
{
	struct kube_auth *a = &k->auth;
	struct error why = { 0 };
	char *token = NULL;

	if (token_of_file(k->config.token_file, &token, &why) && !a->token) {
		*err = why;
		return -1;
	}
	a->read_ms = clock_ms();
	if (!token)
		return 0;
	if (!a->token || strcmp(a->token, token))
		a->generation++;
	str_wipe_free(a->token);
	a->token = token;
	return 0;
}

static bool uses_exec(const struct kube *k)
{
	return k->config.exec && !k->config.token && !k->config.token_file &&
	       !k->config.username && !k->config.cert_pem;
}

/* Opens connections as a client certificate, the configured one if cert_pem is NULL. */
static int renew_conn(struct kube *k, const char *cert_pem, const char *key_pem,
		      struct error *err)
{
	struct kube_conn *conn;

	if (conn_new(k, cert_pem ? cert_pem : k->config.cert_pem,
		     cert_pem ? key_pem : k->config.key_pem, &conn, err))
		return -1;
	conn_put(k->auth.conn);
	k->auth.conn = conn;
	return 0;
}

static int ask_plugin(struct kube *k, struct error *err)
{
	struct kube_auth *a = &k->auth;
	struct kube_credential got = { 0 };

	if (kube_exec_credential(&got, &k->config, err))
		return -1;
	if ((!str_eq(got.cert_pem, a->credential.cert_pem) ||
	     !str_eq(got.key_pem, a->credential.key_pem)) &&
	    renew_conn(k, got.cert_pem, got.key_pem, err)) {
		kube_credential_release(&got);
		return -1;
	}
	kube_credential_release(&a->credential);
	a->credential = got;
	str_wipe_free(a->token);
	a->token = got.token ? xstrdup(got.token) : NULL;
	a->read_ms = clock_ms();
	a->generation++;
	return 0;
}

/* Renew credentials that are due; under a->lock. */
static int refresh(struct kube *k, struct error *err)
{
	struct kube_auth *a = &k->auth;

	if (k->config.token_file && (!a->read_ms || clock_ms() - a->read_ms > TOKEN_MS))
		return read_token(k, err);
	if (uses_exec(k) && (!a->read_ms || (a->credential.expires &&
					     clock_now() >= a->credential.expires)))
		return ask_plugin(k, err);
	return 0;
}

static char *authorization(const struct kube *k)
{
	cleanup_buf struct buf plain = { .max = 8000 };
	cleanup_buf struct buf out = { .max = MAX_TOKEN + 100 };

	if (k->auth.token) {
		buf_printf(&out, "Authorization: Bearer %s", k->auth.token);
	} else if (k->config.username) {
		buf_printf(&plain, "%s:%s", k->config.username,
			   k->config.password ? k->config.password : "");
		buf_adds(&out, "Authorization: Basic ");
		base64_encode(&out, plain.data, plain.len);
		explicit_bzero(plain.data, plain.len);
	}
	return (char *)STEAL(out.data);
}

int kube_attempt_begin(struct kube *k, struct kube_attempt *ret, struct error *err)
{
	struct kube_auth *a = &k->auth;
	int rc;

	pthread_mutex_lock(&a->lock);
	rc = refresh(k, err);
	if (!rc) {
		a->conn->refs++;
		*ret = (struct kube_attempt){ a->conn, authorization(k), a->generation };
	}
	pthread_mutex_unlock(&a->lock);
	return rc;
}

bool kube_attempt_end(struct kube *k, struct kube_attempt *attempt, bool refused)
{
	struct kube_auth *a = &k->auth;
	bool can = k->config.token_file || uses_exec(k);

	pthread_mutex_lock(&a->lock);
	conn_put(attempt->conn);
	/* Another thread may have renewed them since. */
	if (refused && can && attempt->generation == a->generation)
		a->read_ms = 0;
	pthread_mutex_unlock(&a->lock);
	str_wipe_free(attempt->authorization);
	*attempt = (struct kube_attempt){ 0 };
	return refused && can;
}

/* Under a->lock. */
static bool read_ca(struct kube *k)
{
	cleanup_buf struct buf text = { .max = MAX_CA };
	struct kube_auth *a = &k->auth;
	char *before = a->ca_pem;

	if (!k->config.ca_file || file_read(&text, k->config.ca_file, IGNORED) ||
	    !text.data || str_eq((char *)text.data, before ? before : k->config.ca_pem) ||
	    x509_check_bundle((char *)text.data, IGNORED))
		return false;
	a->ca_pem = (char *)text.data;
	if (renew_conn(k, a->credential.cert_pem, a->credential.key_pem, IGNORED)) {
		a->ca_pem = before;
		return false;
	}
	free(before);
	text.data = NULL;
	return true;
}

bool kube_renew_ca(struct kube *k, const struct kube_attempt *attempt)
{
	struct kube_auth *a = &k->auth;
	bool ret;

	pthread_mutex_lock(&a->lock);
	/* Another thread may have renewed it since. */
	ret = attempt->conn != a->conn || read_ca(k);
	pthread_mutex_unlock(&a->lock);
	return ret;
}

int kube_auth_init(struct kube *k, struct error *err)
{
	struct kube_auth *a = &k->auth;

	if (conn_new(k, k->config.cert_pem, k->config.key_pem, &a->conn, err))
		return -1;
	pthread_mutex_init(&a->lock, NULL);
	if (k->config.token)
		a->token = xstrdup(k->config.token);
	return 0;
}

void kube_auth_release(struct kube *k)
{
	struct kube_auth *a = &k->auth;

	if (!a->conn)
		return;
	conn_put(a->conn);
	free(a->ca_pem);
	str_wipe_free(a->token);
	kube_credential_release(&a->credential);
	pthread_mutex_destroy(&a->lock);
}
