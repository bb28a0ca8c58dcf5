/* local_status.c - the status server of a run's pods (machine/local_status.h). */
#include "machine/local_status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/xmalloc.h"
#include "crypto/tls.h"
#include "crypto/x509.h"

#define HOST "127.0.0.1"

enum { YEAR = 365 * 24 * 3600, GRACE_MS = 100, CONNECTIONS = 512 };

struct local_status {
	struct progress_server *server;
	struct tls_server *tls;
	struct httpd *httpd;
	char *ca;
	char url[64];
	int fd;
};

static void handle(void *ctx, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	const struct local_status *s = ctx;

	progress_server_handle(s->server, req, resp);
	(void)!eventfd_write(s->fd, 1);
}

static void handle_large(void *ctx, const struct httpd_request *req,
			 struct httpd_response *resp)
{
	const struct local_status *s = ctx;

	progress_server_large(s->server, req, resp);
}

static int make_tls(struct local_status *s, struct error *err)
{
	const struct tls_conf conf = { 0 };
	cleanup_x509_pair struct x509_pair ca = { 0 }, pair = { 0 };
	/* The clock may be set while the job runs. */
	int64_t from = clock_now() - 10 * (int64_t)YEAR,
		until = from + 20 * (int64_t)YEAR;

	if (x509_new_p256_ca(&ca, "kftrainer", "kftrainer", from, until, err) ||
	    x509_new_server(&pair, &ca, HOST, from, until, err) ||
	    tls_server_new(&s->tls, &conf, err))
		return -1;
	s->ca = xstrdup(ca.cert_pem);
	return tls_server_identity(s->tls, pair.cert_pem, pair.key_pem, err);
}

static int start(struct local_status *s, struct error *err)
{
	struct httpd_conf conf = { .host = HOST,
				   .max_body = PROGRESS_SERVER_MAX_BODY,
				   .max_connections = CONNECTIONS,
				   .max_per_peer = CONNECTIONS, /* of this machine */
				   .handle = handle,
				   .on_large = handle_large,
				   .ctx = s };

	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->fd < 0)
		return error_errno(err, errno, "eventfd");
	if (make_tls(s, err))
		return -1;
	conf.tls = s->tls;
	if (httpd_start(&s->httpd, &conf, err))
		return -1;
	snprintf(s->url, sizeof(s->url), "https://" HOST ":%d", httpd_port(s->httpd));
	return 0;
}

int local_status_start(struct local_status **ret, struct kube *kube, struct error *err)
{
	struct local_status *s = xcalloc(1, sizeof(*s));

	s->fd = -1;
	if (progress_server_new(&s->server, kube, kube, err) || start(s, err)) {
		local_status_stop(s);
		return error_wrap(err, "the status server");
	}
	*ret = s;
	return 0;
}

void local_status_stop(struct local_status *s)
{
	if (!s)
		return;
	if (s->httpd)
		httpd_stop(s->httpd, GRACE_MS);
	if (s->tls)
		tls_server_free(s->tls);
	progress_server_free(s->server);
	if (s->fd >= 0)
		close(s->fd);
	free(s->ca);
	free(s);
}

const char *local_status_url(const struct local_status *s)
{
	return s->url;
}

const char *local_status_ca(const struct local_status *s)
{
	return s->ca;
}

int local_status_fd(const struct local_status *s)
{
	return s->fd;
}

void local_status_clear(const struct local_status *s)
{
	eventfd_t n;

	(void)!eventfd_read(s->fd, &n);
}

void local_status_watch(const struct local_status *s, const struct progress_watch *watch)
{
	progress_server_watch(s->server, watch);
}
