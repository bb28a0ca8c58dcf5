/*
 * http.c - clients and their connections; http_call.c has calls (net/http.h).
 *
 * Only http*.c know libcurl. A slot is an easy handle with its own multi handle, and so
 * its own connection cache; a call uses one slot exclusively. The most recently used slot
 * is reused first, so that connections opened in a burst age and are closed. All slots
 * share the TLS sessions.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "net/http_impl.h"

enum {
	DEFAULT_IDLE = 16,
	KEEP_MS = 90 * 1000, /* idle connections; servers close them later */
	RECEIVE_BYTES = 16 * 1024,
};

#define TRUST         "SSL_CERT_FILE"
#define PROXY_SETTING "proxy-url"

static void global_setup(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, global_setup);
}

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

/* The CA bundle of Debian, RHEL, Alpine and the BSDs, or SUSE. */
static const char *system_ca(void)
{
	static const char *const files[] = { "/etc/ssl/certs/ca-certificates.crt",
					     "/etc/pki/tls/certs/ca-bundle.crt",
					     "/etc/ssl/cert.pem",
					     "/etc/ssl/ca-bundle.pem", NULL };
	const char *set = getenv(TRUST);

	if (set && *set)
		return set;
	for (const char *const *file = files; *file; file++)
		if (file_exists(*file))
			return *file;
	return NULL;
}

/* As Go and OpenSSL: besides the file. */
static const char *system_dirs(void)
{
	const char *set = getenv("SSL_CERT_DIR");

	return set && *set ? set : NULL;
}

/* ---- TLS sessions ---- */

static void sessions_lock(CURL *easy, curl_lock_data which, curl_lock_access how,
			  void *ctx)
{
	struct http_sessions *s = ctx;

	pthread_mutex_lock(&s->locks[which]);
}

static void sessions_unlock(CURL *easy, curl_lock_data which, void *ctx)
{
	struct http_sessions *s = ctx;

	pthread_mutex_unlock(&s->locks[which]);
}

struct http_sessions *http_sessions_new(void)
{
	struct http_sessions *s = xcalloc(1, sizeof(*s));

	start();
	for (int i = 0; i < CURL_LOCK_DATA_LAST; i++)
		pthread_mutex_init(&s->locks[i], NULL);
	s->share = curl_share_init();
	if (!s->share)
		return s;
	curl_share_setopt(s->share, CURLSHOPT_LOCKFUNC, sessions_lock);
	curl_share_setopt(s->share, CURLSHOPT_UNLOCKFUNC, sessions_unlock);
	curl_share_setopt(s->share, CURLSHOPT_USERDATA, s);
	curl_share_setopt(s->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
	return s;
}

void http_sessions_free(struct http_sessions *s)
{
	if (!s)
		return;
	curl_share_cleanup(s->share);
	for (int i = 0; i < CURL_LOCK_DATA_LAST; i++)
		pthread_mutex_destroy(&s->locks[i]);
	free(s);
}

/* ---- clients and slots ---- */

/* The proxy for all servers, if there is one: proxy_url "" means none. */
static int set_proxy(struct http_client *client, const struct http_conf *conf,
		     struct error *err)
{
	struct proxy *proxy;

	client->all_proxy = !conf->go_proxy;
	if (!conf->proxy)
		return 0;
	proxy = arena_alloc(&client->arena, sizeof(*proxy));
	*proxy = (struct proxy){ 0 };
	client->proxy = proxy;
	if (!*conf->proxy)
		return 0;
	if (proxy_parse(proxy, &client->arena, conf->proxy, err))
		return error_wrap(err, "%s", PROXY_SETTING);
	proxy->setting = PROXY_SETTING;
	return 0;
}

int http_client_new(struct http_client **ret, const struct http_conf *conf,
		    struct error *err)
{
	struct http_client *client;

	if (!conf->cert_pem != !conf->key_pem)
		return error_set(err, ERR_INVALID,
				 "a client certificate and its key must both be set");
	start();
	client = xcalloc(1, sizeof(*client));
	client->ca_pem = copy(conf->ca_pem);
	client->ca_setting = copy(conf->ca_setting);
	if (!client->ca_setting && !client->ca_pem)
		client->ca_setting = xstrdup(TRUST);
	client->cert_pem = copy(conf->cert_pem);
	client->key_pem = copy(conf->key_pem);
	client->server_name = copy(conf->server_name);
	client->user_agent = copy(conf->user_agent);
	client->insecure = conf->insecure;
	client->http1 = conf->http1;
	client->h2c = conf->h2c;
	client->after_stop = conf->after_stop;
	client->max_idle = conf->max_idle ? conf->max_idle : DEFAULT_IDLE;
	client->receive_bytes = conf->receive_bytes ? conf->receive_bytes : RECEIVE_BYTES;
	if (!client->ca_pem)
		client->ca_file = copy(conf->ca_file ? conf->ca_file : system_ca());
	if (!client->ca_pem && !conf->ca_file)
		client->ca_dirs = copy(system_dirs());
	pthread_mutex_init(&client->lock, NULL);
	client->own_sessions = !conf->sessions;
	client->sessions = conf->sessions ? conf->sessions : http_sessions_new();
	if (set_proxy(client, conf, err)) {
		http_client_free(client);
		return -1;
	}
	*ret = client;
	return 0;
}

void http_slots_free(struct slot *s)
{
	for (struct slot *next; s; s = next) {
		next = s->next;
		if (s->easy)
			curl_easy_cleanup(s->easy);
		if (s->multi)
			curl_multi_cleanup(s->multi);
		arena_clear(&s->arena);
		free(s);
	}
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	http_slots_free(client->idle);
	if (client->own_sessions)
		http_sessions_free(client->sessions);
	trust_free(client->trust);
	free(client->ca_pem);
	free(client->ca_file);
	free(client->ca_dirs);
	free(client->ca_setting);
	free(client->cert_pem);
	str_wipe_free(client->key_pem);
	free(client->server_name);
	arena_clear(&client->arena);
	free(client->user_agent);
	pthread_mutex_destroy(&client->lock);
	free(client);
}

struct slot *http_slot_take(struct http_client *client)
{
	struct slot *s;

	pthread_mutex_lock(&client->lock);
	s = client->idle;
	if (s)
		client->idle = s->next;
	pthread_mutex_unlock(&client->lock);
	if (s) {
		s->next = NULL;
		return s;
	}
	s = xcalloc(1, sizeof(*s));
	s->easy = curl_easy_init();
	s->multi = curl_multi_init();
	if (!s->easy || !s->multi) {
		http_slots_free(s);
		return NULL;
	}
	curl_easy_setopt(s->easy, CURLOPT_SHARE, client->sessions->share);
	return s;
}

/* Detach the idle slots that are too old or too many; the newest is first. */
static struct slot *cut_old(struct http_client *client, int64_t now)
{
	struct slot **at = &client->idle, *old;
	size_t n = 0;

	while (*at && n < client->max_idle && now - (*at)->used_ms < KEEP_MS) {
		at = &(*at)->next;
		n++;
	}
	old = *at;
	*at = NULL;
	return old;
}

static void slot_put(struct http_client *client, struct slot *s)
{
	struct slot *old;

	s->used_ms = clock_ms();
	pthread_mutex_lock(&client->lock);
	s->next = client->idle;
	client->idle = s;
	old = cut_old(client, s->used_ms);
	pthread_mutex_unlock(&client->lock);
	http_slots_free(old);
}

/* Descriptors whose readiness requires call_must_end(). */
static unsigned wake_fds(const struct call *c, struct curl_waitfd fds[2])
{
	int stop = stop_fd();
	unsigned n = 0;

	if (stop >= 0 && !c->client->after_stop)
		fds[n++] = (struct curl_waitfd){ .fd = stop, .events = CURL_WAIT_POLLIN };
	if (c->req->cancel_fd)
		fds[n++] = (struct curl_waitfd){ .fd = *c->req->cancel_fd,
						 .events = CURL_WAIT_POLLIN };
	return n;
}

static int poll_ms(const struct call *c)
{
	const struct http_request *req = c->req;
	bool has_wakeup = stop_fd() >= 0 || c->client->after_stop;

	return has_wakeup && !req->idle_ms && !req->first_ms &&
			       (!req->cancel || req->cancel_fd)
		       ? HTTP_POLL_IDLE_MS
		       : HTTP_POLL_MS;
}

CURLcode http_drive(struct call *c, CURLM *multi)
{
	struct curl_waitfd fds[2];
	unsigned n_fds = wake_fds(c, fds);
	CURLcode ret = CURLE_ABORTED_BY_CALLBACK;
	int running = 1, left;
	CURLMsg *msg;

	if (curl_multi_add_handle(multi, c->easy))
		return CURLE_FAILED_INIT;
	while (!call_must_end(c)) {
		if (curl_multi_perform(multi, &running))
			break;
		if (!running) {
			msg = curl_multi_info_read(multi, &left);
			ret = msg && msg->msg == CURLMSG_DONE ? msg->data.result
							      : CURLE_FAILED_INIT;
			break;
		}
		if (curl_multi_poll(multi, fds, n_fds, poll_ms(c), NULL))
			break;
	}
	return ret;
}

int http_do(struct http_client *client, const struct http_request *req,
	    struct http_response *ret, struct error *err)
{
	struct slot *s = http_slot_take(client);
	struct call c;
	CURLcode code;
	int rc;

	if (!s)
		return error_set(err, ERR_IO, "cannot open a connection: %s",
				 strerror(errno));
	call_init(&c, client, req, err);
	if (call_prepare(&c, s)) {
		call_drop(&c);
		rc = -1;
	} else {
		code = http_drive(&c, s->multi);
		curl_multi_remove_handle(s->multi, c.easy);
		rc = call_finish(&c, code, ret);
	}
	slot_put(client, s);
	return rc;
}

/* "fd00::1" and "fd00::1:6443", which is that address too. */
static bool is_bare_v6(const char *authority)
{
	size_t len = strcspn(authority, "/"), colons = 0;

	for (size_t i = 0; i < len; i++)
		colons += authority[i] == ':';
	return colons > 1 && !memchr(authority, '[', len);
}

const char *http_server_fault(const char *url)
{
	static const char no_url[] = "not a URL with http:// or https:// and a host";
	const char *rest = strstr(url, "://");
	size_t scheme = rest ? (size_t)(rest - url) : 0;
	CURLU *parsed;
	CURLUcode rc;

	if ((scheme != 4 && scheme != 5) || strncasecmp(url, "https", scheme) != 0)
		return no_url;
	rest += strlen("://");
	if (!*rest || *rest == '/' || strpbrk(rest, " \t\r\n@#?"))
		return no_url;
	if (is_bare_v6(rest))
		return "an IPv6 address without brackets; expected https://[ADDRESS]:PORT";
	parsed = curl_url();
	rc = parsed ? curl_url_set(parsed, CURLUPART_URL, url, 0) : CURLUE_OUT_OF_MEMORY;
	curl_url_cleanup(parsed);
	if (rc == CURLUE_BAD_PORT_NUMBER)
		return "a URL whose port is not a number from 1 to 65535";
	return rc ? no_url : NULL;
}

bool http_is_server_name(const char *s)
{
	struct in6_addr unused;

	for (const char *p = s; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("-._", *p))
			return inet_pton(AF_INET6, s, &unused) == 1;
	return true;
}

bool http_is_etag(const char *s)
{
	const char *p = str_after(s, "W/\"");

	if (!p)
		p = str_after(s, "\"");
	while (p && (*p == '!' || (*p > '"' && *p < 0x7f) || (unsigned char)*p >= 0x80))
		p++;
	return p && p[0] == '"' && !p[1];
}

static void escape(struct buf *out, const char *s, char also)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (; *s; s++) {
		if (strchr(plain, *s) || *s == also)
			buf_add(out, s, 1);
		else
			buf_printf(out, "%%%02X", (unsigned char)*s);
	}
}

void http_escape(struct buf *out, const char *s)
{
	escape(out, s, 0);
}

void http_escape_path(struct buf *out, const char *path)
{
	escape(out, path, '/');
}
