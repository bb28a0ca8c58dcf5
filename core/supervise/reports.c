/* reports.c - the status server of a supervised command (supervise/reports.h). */
#include "supervise/reports.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "crypto/bearer.h"
#include "crypto/tls.h"
#include "crypto/x509.h"
#include "net/httpd.h"
#include "net/uri.h"
#include "supervise/forward.h"
#include "trainer/progress.h"

#define HOST        "127.0.0.1"
#define NAME        "KUBEFLOW_TRAINER_SERVER_"
#define OWN_PATH    "/apis/trainer.kubeflow.org/v1alpha1/status"
#define RETRY_LATER "Retry-After: 1\r\n"

enum {
	MAX_BODY = 64 * 1024,
	MAX_ANSWER = 4 * MAX_BODY,
	CONNECTIONS = 16,
	PER_SECOND = 100,
	TEN_YEARS = 10 * 365 * 24 * 3600,
};

struct reports {
	struct report_sink *sinks;
	size_t n_sinks;
	char key[RANDOM_KEY_SIZE];
	char *path;
	struct tls_server *tls;
	struct httpd *httpd;
	struct forward *forward; /* NULL: the job has no status server */
	pthread_mutex_t lock;    /* of the sinks and the rest */
	int64_t second, n;       /* reports in this second of clock_ms() */
};

/* ---- a report ----------------------------------------------------------------------- */

static void fail(struct httpd_response *resp, int code, const char *reason,
		 const char *message)
{
	cleanup_json cJSON *status = progress_refusal(code, reason, message);

	httpd_answer_json(resp, code, status, MAX_ANSWER);
}

/* The lock is held. */
static bool too_many(struct reports *r)
{
	int64_t now = clock_ms() / 1000;

	if (r->second != now)
		r->n = 0;
	r->second = now;
	return ++r->n > PER_SECOND;
}

/* False: too many. */
static bool pass_on(struct reports *r, const cJSON *progress, const char *body,
		    size_t len)
{
	cleanup_json cJSON *exact = json_dup(progress);
	cleanup_free char *text = NULL;
	struct timespec t;
	bool accepted;

	progress_keep_time(exact, body, len);
	text = json_text(exact);
	clock_gettime(CLOCK_REALTIME, &t);
	pthread_mutex_lock(&r->lock);
	accepted = !too_many(r);
	for (size_t i = 0; accepted && i < r->n_sinks; i++)
		r->sinks[i].take(r->sinks[i].ctx, text, strlen(text),
				 (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000);
	pthread_mutex_unlock(&r->lock);
	return accepted;
}

static void take(struct reports *r, const struct httpd_request *req,
		 struct httpd_response *resp)
{
	cleanup_json cJSON *progress = NULL, *echo = NULL;
	const char *body = (const char *)req->body;

	if (progress_parse(&progress, body, req->body_len, IGNORED) ||
	    (progress && progress_check(progress, IGNORED))) {
		fail(resp, 422, "Invalid", "Invalid payload");
		return;
	}
	if (progress && !pass_on(r, progress, body, req->body_len)) {
		resp->headers.max = sizeof(RETRY_LATER);
		buf_adds(&resp->headers, RETRY_LATER);
		fail(resp, 429, "TooManyRequests", "Too many requests");
		return;
	}
	resp->content_type = "application/json";
	resp->body.max = MAX_ANSWER;
	if (progress && r->forward &&
	    forward_ask(r->forward, body, req->body_len, &resp->status, &resp->body))
		return;
	echo = progress_echo(progress);
	httpd_answer_json(resp, 200, echo, MAX_ANSWER);
}

static void handle(void *ctx, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	struct reports *r = ctx;

	if (!str_eq(req->method, "POST") || !str_eq(req->path, r->path))
		fail(resp, 404, "NotFound", "Not found");
	else if (!bearer_is(httpd_header(req, "Authorization"), r->key))
		fail(resp, 403, "Forbidden", "Forbidden");
	else
		take(r, req, resp);
}

static void handle_large(void *ctx, const struct httpd_request *req,
			 struct httpd_response *resp)
{
	fail(resp, 413, "RequestEntityTooLarge", "Payload too large");
}

/* ---- the command's environment ------------------------------------------------------- */

enum { PATH_SIZE = 64 };

/*
 * The path of a file in memory. It belongs to this process: a descendant of the command,
 * whose own descriptors have been closed, can open it.
 */
static int put_file(char ret_path[PATH_SIZE], const char *name, const char *text,
		    struct error *err)
{
	int fd = memfd_create(name, MFD_CLOEXEC); /* open until the process ends */

	if (fd < 0)
		return error_errno(err, errno, "memfd_create");
	if (fchmod(fd, 0400))
		return error_errno(err, errno, "fchmod");
	snprintf(ret_path, PATH_SIZE, "/proc/%lld/fd/%d", (long long)getpid(), fd);
	return file_write_fd(fd, text, strlen(text), name, err);
}

/* A proxy would be asked for this host's loopback address. */
static void add_no_proxy(void)
{
	static const char *const names[] = { "no_proxy", "NO_PROXY" };
	cleanup_arena struct arena a = { 0 };
	const char *lower = getenv(names[0]), *upper = getenv(names[1]);

	lower = lower && *lower ? lower : upper;
	upper = upper && *upper ? upper : lower;
	for (int i = 0; i < 2; i++) {
		const char *list = i ? upper : lower;

		if (!list || !*list)
			setenv(names[i], HOST, 1);
		else if (!str_eq(list, "*") && !strstr(list, HOST))
			setenv(names[i], arena_printf(&a, "%s," HOST, list), 1);
	}
}

static int set_environment(struct reports *r, const char *ca_pem, struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	char ca[PATH_SIZE], token[PATH_SIZE];

	if (put_file(ca, "ca.crt", ca_pem, err) || put_file(token, "token", r->key, err))
		return -1;
	setenv(NAME "CA_CERT", ca, 1);
	setenv(NAME "TOKEN", token, 1);
	setenv(NAME "URL",
	       arena_printf(&a, "https://" HOST ":%d%s", httpd_port(r->httpd), r->path),
	       1);
	add_no_proxy();
	return 0;
}

/* ---- start and end -------------------------------------------------------------------- */

/* The path of the job's endpoint, as code may look for its names there. */
static char *path_of(const char *url)
{
	cleanup_arena struct arena a = { 0 };
	struct uri uri;

	if (!url || uri_parse(&uri, &a, url, IGNORED))
		return xstrdup(OWN_PATH);
	return xstrdup(arena_printf(&a, "/%s", uri.path));
}

static int start_forward(struct reports *r, const char *url, struct error *err)
{
	const char *token = getenv(NAME "TOKEN");

	return url && token ? forward_start(&r->forward, url, getenv(NAME "CA_CERT"),
					    token, err)
			    : 0;
}

static int listen_to_command(struct reports *r, struct x509_pair *ca, struct error *err)
{
	const struct tls_conf tls = { 0 };
	struct httpd_conf conf = { .host = HOST,
				   .max_body = MAX_BODY,
				   .max_connections = CONNECTIONS,
				   .max_per_peer = CONNECTIONS,
				   .handle = handle,
				   .on_large = handle_large,
				   .ctx = r };
	cleanup_x509_pair struct x509_pair pair = { 0 };
	/* The clock may be set while the job runs. */
	int64_t from = clock_now() - TEN_YEARS, until = from + 2 * TEN_YEARS;

	if (x509_new_p256_ca(ca, "kftrainer", "kftrainer", from, until, err) ||
	    x509_new_server(&pair, ca, HOST, from, until, err) ||
	    tls_server_new(&r->tls, &tls, err) ||
	    tls_server_identity(r->tls, pair.cert_pem, pair.key_pem, err))
		return -1;
	conf.tls = r->tls;
	return httpd_start(&r->httpd, &conf, err);
}

static int start(struct reports *r, struct error *err)
{
	const char *url = getenv(NAME "URL");
	cleanup_x509_pair struct x509_pair ca = { 0 };

	r->path = path_of(url);
	return random_key(r->key, err) || listen_to_command(r, &ca, err) ||
			       start_forward(r, url, err) ||
			       set_environment(r, ca.cert_pem, err)
		       ? -1
		       : 0;
}

int reports_start(struct reports **ret, const struct report_sink *sinks, size_t n_sinks,
		  struct error *err)
{
	struct reports *r = xcalloc(1, sizeof(*r));

	pthread_mutex_init(&r->lock, NULL);
	r->sinks = xcalloc(n_sinks + 1, sizeof(*sinks));
	for (size_t i = 0; i < n_sinks; i++)
		r->sinks[i] = sinks[i];
	r->n_sinks = n_sinks;
	if (start(r, err)) {
		reports_stop(r);
		return error_wrap(err, "the listener for progress reports");
	}
	*ret = r;
	return 0;
}

void reports_send(struct reports *r, const char *body, size_t len)
{
	if (r->forward)
		forward_put(r->forward, FORWARD_SELF, body, len);
}

void reports_stop(struct reports *r)
{
	if (!r)
		return;
	if (r->httpd)
		httpd_stop(r->httpd, 0);
	tls_server_free(r->tls);
	forward_stop(r->forward);
	pthread_mutex_destroy(&r->lock);
	explicit_bzero(r->key, sizeof(r->key));
	free(r->sinks);
	free(r->path);
	free(r);
}
