/* Answers: controller-runtime's pkg/healthz and pkg/metrics/filters. */
#include "base/file.h"
#include "crypto/x509.h"
#include "manager/health.h"
#include "manager/scrape.h"
#include "manager/serve.h"
#include "tests/unit/manager/standin.h"

/* ---- health ---- */

static const char *unless_set(void *ctx)
{
	return *(bool *)ctx ? NULL : "it is not set";
}

static const struct health_check live[] = { { "healthz", NULL, false },
					    { NULL, NULL, false } };
static const struct health_check ready[] = { { "readyz", unless_set, false },
					     { "other", NULL, false },
					     { NULL, NULL, false } };
static const struct health_check half[] = { { "rather", unless_set, true },
					    { NULL, NULL, false } };

static const struct health_row {
	const char *path, *query;
	bool set;
	int status; /* 0: nothing is there */
	const char *body;
} health_rows[] = {
	{ "/healthz", "", false, 200, "ok" },
	{ "/healthz/", "", false, 200, "ok" },
	{ "/healthz/healthz", "", false, 200, "ok" },
	{ "/healthz/other", "", false, 0, "" },
	{ "/healthzz", "", false, 0, "" },
	{ "healthz", "", false, 0, "" },
	{ "/", "", false, 0, "" },
	{ "/ready", "", true, 200, "ok" },
	{ "/ready", "", false, 500,
	  "[-]readyz failed: it is not set\n[+]other ok\nready check failed\n" },
	{ "/ready", "verbose", true, 200,
	  "[+]readyz ok\n[+]other ok\nready check passed\n" },
	{ "/ready", "exclude=readyz", false, 200, "ok" },
	{ "/ready", "a=b&verbose=1&exclude=readyz", false, 200,
	  "[+]readyz excluded: ok\n[+]other ok\nready check passed\n" },
	{ "/ready", "exclude=ready", false, 500,
	  "[-]readyz failed: it is not set\n[+]other ok\nready check failed\n" },
	{ "/ready/readyz", "", true, 200, "ok" },
	{ "/ready/readyz", "", false, 500, "not ok: it is not set\n" },
	{ "/ready/other", "", false, 200, "ok" },
};

/* What is only told does not fail the group, and is told whether one asks or not. */
static const struct health_row half_rows[] = {
	{ "/ready", "", true, 200, "ok" },
	{ "/ready", "", false, 200,
	  "[-]rather failed: it is not set\nready check passed\n" },
	{ "/ready", "exclude=rather", false, 200, "ok" },
	{ "/ready/rather", "", false, 500, "not ok: it is not set\n" },
};

static void check_health(const struct health_check *checks, const struct health_row *row)
{
	bool set = row->set;
	struct health h = { .groups = { { "healthz", live }, { "ready", checks } },
			    .ctx = &set };
	const struct httpd_request req = { .method = "GET",
					   .path = row->path,
					   .query = row->query };
	struct httpd_response resp = { 0 };

	health_handle(&h, &req, &resp);
	assert_int_equal(resp.status, row->status);
	assert_string_equal(resp.body.data ? (char *)resp.body.data : "", row->body);
	buf_release(&resp.body);
}

TEST(test_health)
{
	for (size_t i = 0; i < N_ELEMENTS(health_rows); i++)
		check_health(ready, &health_rows[i]);
	for (size_t i = 0; i < N_ELEMENTS(half_rows); i++)
		check_health(half, &half_rows[i]);
}

/* ---- metrics ---- */

#define TOKENS "/apis/authentication.k8s.io/v1/tokenreviews"
#define ACCESS "/apis/authorization.k8s.io/v1/subjectaccessreviews"

static const struct metric one = { .type = METRIC_COUNTER, .name = "one", .help = "h" };
static const struct metric *const table[] = { &one, NULL };

static void count(void *ctx)
{
	metrics_add(ctx, &one, 1);
}

static int ask(struct scrape *s, const char *method, const char *path, const char *token,
	       char *ret_body, size_t size)
{
	const struct httpd_header headers[] = { { token ? "Authorization" : NULL, token },
						{ NULL, NULL } };
	const struct httpd_request req = {
		.method = method, .path = path, .query = "", .headers = headers
	};
	struct httpd_response resp = { 0 };

	scrape_handle(s, &req, &resp);
	snprintf(ret_body, size, "%s", resp.body.data ? (char *)resp.body.data : "");
	buf_release(&resp.body);
	return resp.status;
}

static struct scrape *new_scrape(const struct scrape_conf *conf)
{
	struct error err = { 0 };
	struct scrape *s;

	if (scrape_new(&s, conf, &err))
		fail_msg("%s", err.msg);
	return s;
}

TEST(test_open_metrics)
{
	struct metrics *m = metrics_new(table);
	const struct scrape_conf conf = { .metrics = m, .measure = count, .ctx = m };
	struct scrape *s = new_scrape(&conf);
	char body[8192];

	assert_int_equal(ask(s, "GET", "/metrics", NULL, body, sizeof(body)), 200);
	assert_non_null(strstr(body, "\none 1\n"));
	assert_non_null(strstr(body, "\nprocess_open_fds "));
	assert_int_equal(ask(s, "HEAD", "/metrics", NULL, body, sizeof(body)), 200);
	assert_int_equal(ask(s, "POST", "/metrics", NULL, body, sizeof(body)), 405);
	assert_int_equal(ask(s, "GET", "/", NULL, body, sizeof(body)), 404);
	scrape_free(s);
	metrics_free(m);
}

static const struct {
	const char *what;
	struct standin_answer answers[3];
	int want;
} review_rows[] = {
	{ "may",
	  { { TOKENS, 201, "{status: {authenticated: true, user: {username: u}}}" },
	    { ACCESS, 201, "{status: {allowed: true}}" } },
	  200 },
	{ "may not",
	  { { TOKENS, 201, "{status: {authenticated: true, user: {username: u}}}" },
	    { ACCESS, 201, "{status: {allowed: false, denied: true}}" } },
	  403 },
	{ "nobody", { { TOKENS, 201, "{status: {authenticated: false}}" } }, 401 },
	{ "without a name", { { TOKENS, 201, "{status: {authenticated: true}}" } }, 401 },
	{ "no status", { { TOKENS, 201, "{}" } }, 401 },
	{ "the review is refused", { { TOKENS, 403, "{message: no}" } }, 500 },
	{ "the second review is refused",
	  { { TOKENS, 201, "{status: {authenticated: true, user: {username: u}}}" },
	    { ACCESS, 403, "{message: no}" } },
	  500 },
};

TEST(test_reviewed_metrics)
{
	char body[8192];

	for (size_t i = 0; i < N_ELEMENTS(review_rows); i++) {
		struct standin api;
		struct metrics *m = metrics_new(table);
		struct scrape_conf conf = { .metrics = m };
		struct scrape *s;
		int got;

		standin_start(&api);
		standin_set(&api, review_rows[i].answers);
		conf.kube = api.kube;
		s = new_scrape(&conf);
		assert_int_equal(ask(s, "GET", "/metrics", NULL, body, sizeof(body)),
				 401);
		assert_int_equal(api.asked.len, 0); /* nobody is asked */
		got = ask(s, "GET", "/metrics", "Bearer t-1", body, sizeof(body));
		if (got != review_rows[i].want)
			fail_msg("%s: got %d", review_rows[i].what, got);
		if (got == 200) { /* is remembered; another token is not */
			standin_set(&api, review_rows[i].answers);
			assert_int_equal(ask(s, "GET", "/metrics", "Bearer t-1", body,
					     sizeof(body)),
					 200);
			assert_int_equal(api.asked.len, 0);
			assert_int_equal(ask(s, "GET", "/metrics", "Bearer t-2", body,
					     sizeof(body)),
					 200);
			assert_non_null(strstr((char *)api.asked.data,
					       "\"path\":\"/metrics\",\"verb\":\"get\""));
		}
		scrape_free(s);
		metrics_free(m);
		standin_stop(&api);
	}
}

/* ---- TLS ---- */

/* As upstream: what is not known is ignored. */
TEST(test_tls_settings)
{
	static const char *const versions[] = { "", "1.0", "1.3", "1.4", "x" };

	for (size_t i = 0; i < N_ELEMENTS(versions); i++) {
		const struct manager_config c = { .tls.min_version = versions[i] };
		struct tls_server *tls;
		struct error err = { 0 };

		assert_int_equal(serve_tls(&tls, &c, &err), 0);
		tls_server_free(tls);
	}
}

TEST(test_client_ca)
{
	char path[] = "/tmp/test_serve.XXXXXX";
	const struct manager_config c = { .webhook_client_ca = path };
	cleanup_x509_pair struct x509_pair ca = { 0 };
	struct error err = { 0 };
	int fd = mkstemp(path);

	assert_int_equal(x509_new_p256_ca(&ca, "c", "o", 1800000000, 1900000000, &err),
			 0);
	for (int i = 0; i < 3; i++) {
		const char *text = i == 0 ? ca.cert_pem : i == 1 ? "nonsense" : "";
		struct tls_client_ca *got = NULL;

		assert_int_equal(file_write(path, text, strlen(text), 0600, &err), 0);
		assert_int_equal(serve_client_ca(&got, &c, &err), i ? -1 : 0);
		assert_int_equal(err.kind, i ? ERR_INVALID : ERR_NONE);
		assert_int_equal(got != NULL, !i);
		tls_client_ca_free(got);
	}
	close(fd);
	unlink(path);
}

RUN_TESTS(NULL, NULL)
