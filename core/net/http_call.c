/* http_call.c - makes one call with libcurl (net/http.h). */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "net/http_impl.h"

enum {
	CONNECT_MS = 15000,
	MAX_HEADER = 64 * 1024,
	MAX_WARNINGS = 32,
	MAX_RETRY_AFTER = 1000000,
	UPLOAD_BYTES = 16 * 1024,
	FIRST_MS = 5 * 60 * 1000,
};
#define DEFAULT_BODY ((size_t)64 * 1024 * 1024)

void http_response_release(struct http_response *r)
{
	buf_release(&r->body);
	cJSON_Delete(r->doc);
	for (char **w = r->warnings; w && *w; w++)
		free(*w);
	free(r->warnings);
	free(r->content_type);
	free(r->location);
	*r = (struct http_response){ .retry_after_ms = -1 };
}

static bool is_success(const struct call *c)
{
	return c->resp.status >= 200 && c->resp.status < 300;
}

static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
	struct call *c = ctx;
	size_t len = size * n;

	c->heard_ms = clock_ms();
	if (c->req->on_data && is_success(c)) {
		c->failed = c->req->on_data(c->req->ctx, data, len, c->err);
		return c->failed ? CURL_WRITEFUNC_ERROR : len;
	}
	buf_add(&c->resp.body, data, len);
	if (!c->resp.body.overflowed)
		return len;
	c->failed = true;
	error_set(c->err, ERR_LIMIT, "%s: response exceeds %zu bytes", c->host,
		  c->resp.body.max);
	return CURL_WRITEFUNC_ERROR;
}

/* Pass the next bytes of the body to libcurl. */
static size_t on_read(char *data, size_t size, size_t n, void *ctx)
{
	struct call *c = ctx;
	const struct http_request *req = c->req;
	size_t left = req->body_len - c->sent, max = size * n, got = 0;

	max = max < left ? max : left;
	if (!max)
		return 0;
	if (req->read(req->read_ctx, c->sent, data, max, &got, c->err)) {
		c->failed = true;
		return CURL_READFUNC_ABORT;
	}
	c->sent += got;
	return got;
}

/* Rewind the body: a reused connection was closed, and libcurl resends the request. */
static int on_seek(void *ctx, curl_off_t offset, int origin)
{
	struct call *c = ctx;

	if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > c->req->body_len)
		return CURL_SEEKFUNC_FAIL;
	c->sent = (size_t)offset;
	return CURL_SEEKFUNC_OK;
}

static void set_body(struct call *c)
{
	const struct http_request *req = c->req;
	CURL *easy = c->easy;

	if (req->read) {
		curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE,
				 (curl_off_t)req->body_len);
		curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
		curl_easy_setopt(easy, CURLOPT_READDATA, c);
		curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
		curl_easy_setopt(easy, CURLOPT_SEEKDATA, c);
	} else if (req->body) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)req->body_len);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, req->body);
	} else if (!strcmp(req->method, "POST") || !strcmp(req->method, "PUT")) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, 0L);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
	}
}

/* Store the text of 299 - "text" or 299 agent "text" "date"; ignore other values. */
static void add_warning(struct http_response *r, const char *value)
{
	const char *p = str_after(value, "299 ");
	cleanup_buf struct buf text = { .max = 4096 };
	size_t n = 0;

	while (r->warnings && r->warnings[n])
		n++;
	p = p ? strchr(p, '"') : NULL;
	if (!p || n == MAX_WARNINGS)
		return;
	for (p++; *p && *p != '"'; p++) {
		if (*p == '\\' && p[1])
			p++;
		buf_add(&text, p, 1);
	}
	r->warnings = xreallocarray(r->warnings, n + 2, sizeof(*r->warnings));
	r->warnings[n] = text.len ? (char *)STEAL(text.data) : xstrdup("");
	r->warnings[n + 1] = NULL;
}

/*
 * RateLimit: "api";r=0;t=55 (IETF draft): no requests are left for 55 seconds; add one,
 * because seconds are truncated.
 */
static void add_limit(struct http_response *r, const char *value)
{
	cleanup_arena struct arena arena = { 0 };
	const char *t = strstr(value, ";t=");
	int64_t seconds;

	if (r->status != 429 || r->retry_after_ms >= 0 || !t)
		return;
	t += strlen(";t=");
	if (!str_int(&seconds, str_slice(&arena, t, strcspn(t, ",; ")), 0, 1000000,
		     IGNORED))
		r->retry_after_ms = (seconds + 1) * 1000;
}

int64_t http_date(const char *text)
{
	int64_t date = text ? curl_getdate(text, NULL) : 0;

	return date > 0 ? date : 0;
}

/*
 * Parse Retry-After: seconds, or a date (RFC 9110, 10.2.3), by the clock of the server if
 * its Date came before.
 */
static int64_t retry_after_ms(const char *value, int64_t date)
{
	int64_t seconds;

	if (str_int(&seconds, value, 0, MAX_RETRY_AFTER, IGNORED)) {
		seconds = curl_getdate(value, NULL);
		if (seconds < 0)
			return -1;
		seconds -= date ? date : clock_now();
	}
	seconds = seconds < 0 ? 0 : seconds;
	return (seconds < MAX_RETRY_AFTER ? seconds : MAX_RETRY_AFTER) * 1000;
}

void http_response_field(struct http_response *r, const char *name, char *value)
{
	if (!strcasecmp(name, "Retry-After")) {
		r->retry_after_ms = retry_after_ms(value, r->date);
	} else if (!strcasecmp(name, "Date")) {
		r->date = http_date(value);
	} else if (!strcasecmp(name, "RateLimit")) {
		add_limit(r, value);
	} else if (!strcasecmp(name, "Warning")) {
		add_warning(r, value);
	} else if (!strcasecmp(name, "Content-Type")) {
		value[strcspn(value, "; \t")] = 0;
		free(r->content_type);
		r->content_type = xstrdup(value);
	} else if (!strcasecmp(name, "Location")) {
		free(r->location);
		r->location = xstrdup(value);
	}
}

static bool is_wanted(const struct call *c, const char *line, size_t len)
{
	static const char *const names[] = { "Retry-After:",  "RateLimit:", "Warning:",
					     "Content-Type:", "Location:",  "Date:" };

	if (c->req->on_header)
		return true;
	if (!memchr("RrWwCcLlDd", *line, 10))
		return false;
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (len > strlen(names[i]) &&
		    !strncasecmp(line, names[i], strlen(names[i])))
			return true;
	return false;
}

/* 100 Continue is no answer, nor is 101, but for a WebSocket. */
static bool is_final(const struct call *c)
{
	return c->resp.status >= 200 ||
	       (c->resp.status == 101 && str_starts(c->req->url, "ws"));
}

static int save_field(struct call *c, const char *data, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	char *line = str_slice(&arena, data, len);
	char *colon = strchr(line, ':');
	char *value;

	if (!colon)
		return 0;
	*colon = 0;
	for (char *cr = colon + 1; (cr = strchr(cr, '\r')); cr++)
		*cr = ' '; /* RFC 9110, 5.5 */
	value = str_trim(&arena, colon + 1);
	if (c->req->on_header && is_final(c) &&
	    c->req->on_header(c->req->ctx, c->resp.status, line, value, c->err)) {
		c->failed = true;
		return -1;
	}
	http_response_field(&c->resp, line, value);
	return 0;
}

/* Reset the response at each status line: 100 Continue has headers, too. */
static void on_status(struct call *c)
{
	long status = 0;
	size_t max = c->resp.body.max;

	curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	http_response_release(&c->resp);
	c->resp.body.max = max;
	c->resp.status = (int)status;
	c->heard_ms = clock_ms();
}

static size_t on_header(char *data, size_t size, size_t n, void *ctx)
{
	struct call *c = ctx;
	size_t len = size * n;

	c->header_bytes += len;
	if (c->header_bytes > MAX_HEADER) {
		c->failed = true;
		error_set(c->err, ERR_LIMIT, "%s: response header exceeds %d bytes",
			  c->host, MAX_HEADER);
		return CURL_WRITEFUNC_ERROR;
	}
	if (len > 5 && !memcmp(data, "HTTP/", 5))
		on_status(c);
	else if (is_wanted(c, data, len) && save_field(c, data, len))
		return CURL_WRITEFUNC_ERROR;
	return len;
}

/* No child of this process inherits it. */
static curl_socket_t on_open(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* Make the connection fail if bytes are not acknowledged for 30 s. */
static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
	int ms = 30000;

	if (purpose == CURLSOCKTYPE_IPCXN)
		setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	return CURL_SOCKOPT_OK;
}

static void set_blob(CURL *easy, CURLoption option, char *text, size_t extra)
{
	struct curl_blob blob = { .data = text,
				  .len = text ? strlen(text) + extra : 0,
				  .flags = CURL_BLOB_NOCOPY };

	if (text)
		curl_easy_setopt(easy, option, &blob);
}

/* The host of "h:443" or "[::1]:443", without port and brackets. */
static const char *host_of(struct arena *arena, const char *host)
{
	const char *colon = strrchr(host, ':');
	bool v6 = *host == '[';

	return str_slice(arena, host + v6,
			 colon ? (size_t)(colon - host) - 2 * v6 : strlen(host));
}

/* Set the check of a handshake: of a TLS proxy, which is the first, or of the server. */
static CURLcode on_handshake(CURL *easy, void *config, void *ctx)
{
	struct call *c = ctx;
	const char *name = c->client->server_name;

	c->handshakes++;
	c->check = (struct trust_check){ .trust = c->client->trust };
	if (call_is_with_proxy(c))
		c->check.host = host_of(&c->arena, c->proxy->shown);
	else
		c->check.host = name && *name ? name : host_of(&c->arena, c->host);
	trust_apply(&c->check, config);
	return CURLE_OK;
}

/* Pass the CA to libcurl, only to separate its sessions; on_handshake() verifies. */
static void set_trust(struct call *c, CURLoption verify_peer, CURLoption verify_host,
		      CURLoption distinguish)
{
	struct http_client *client = c->client;

	if (client->insecure) {
		curl_easy_setopt(c->easy, verify_peer, 0L);
		curl_easy_setopt(c->easy, verify_host, 0L);
	} else {
		set_blob(c->easy, distinguish,
			 client->ca_pem ? client->ca_pem : client->ca_file, 0);
	}
}

static void set_tls(struct call *c)
{
	struct http_client *client = c->client;
	CURL *easy = c->easy;

	set_trust(c, CURLOPT_SSL_VERIFYPEER, CURLOPT_SSL_VERIFYHOST,
		  CURLOPT_ISSUERCERT_BLOB);
	curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_handshake);
	curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, c);
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	set_blob(easy, CURLOPT_SSLCERT_BLOB, client->cert_pem, 0);
	/* mbedTLS recognizes PEM by its final NUL. */
	set_blob(easy, CURLOPT_SSLKEY_BLOB, client->key_pem, 1);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
			 client->http1 ? (long)CURL_HTTP_VERSION_1_1
			 : client->h2c ? (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
				       : (long)CURL_HTTP_VERSION_2TLS);
}

static void set_connection(struct call *c)
{
	CURL *easy = c->easy;
	int64_t timeout = c->req->timeout_ms;
	size_t bytes =
		c->req->receive_bytes ? c->req->receive_bytes : c->client->receive_bytes;

	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* do not block in lookups */
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPCNT, 3L);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)bytes);
	curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BYTES);
	curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	if (c->req->once)
		curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	if (c->client->user_agent)
		curl_easy_setopt(easy, CURLOPT_USERAGENT, c->client->user_agent);
}

static void set_request(struct call *c)
{
	const struct http_request *req = c->req;
	CURL *easy = c->easy;

	for (const char *const *h = req->headers; h && *h; h++)
		c->headers = curl_slist_append(c->headers, *h);
	c->headers = curl_slist_append(c->headers, "Expect:");
	curl_easy_setopt(easy, CURLOPT_URL, req->url);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, c->headers);
	set_body(c);
	if (!strcmp(req->method, "HEAD"))
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	else
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, req->method);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, c);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, c);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, c->why);
}

/* Set the proxy chosen by net/proxy.h; libcurl must not read the environment. */
static void set_proxy(struct call *c)
{
	struct http_client *client = c->client;
	CURL *easy = c->easy;

	curl_easy_setopt(easy, CURLOPT_PROXY, c->proxy->url ? c->proxy->url : "");
	curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
	if (!c->proxy->tls)
		return;
	/* As in Go, the settings for the server are those for its proxy. */
	set_trust(c, CURLOPT_PROXY_SSL_VERIFYPEER, CURLOPT_PROXY_SSL_VERIFYHOST,
		  CURLOPT_PROXY_ISSUERCERT_BLOB);
	curl_easy_setopt(easy, CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	set_blob(easy, CURLOPT_PROXY_SSLCERT_BLOB, client->cert_pem, 0);
	set_blob(easy, CURLOPT_PROXY_SSLKEY_BLOB, client->key_pem, 1);
}

/* The parts of a URL, to replace its host. */
struct target {
	CURLU *url;
	char *host, *port, *scheme, *whole;
};

static bool is_tls(const struct target *t)
{
	return !strcmp(t->scheme, "https") || !strcmp(t->scheme, "wss");
}

static int parse_target(struct target *t, const char *url)
{
	t->url = curl_url();
	return t->url && !curl_url_set(t->url, CURLUPART_URL, url, CURLU_DISALLOW_USER) &&
			       !curl_url_get(t->url, CURLUPART_HOST, &t->host, 0) &&
			       !curl_url_get(t->url, CURLUPART_PORT, &t->port,
					     CURLU_DEFAULT_PORT) &&
			       !curl_url_get(t->url, CURLUPART_SCHEME, &t->scheme, 0)
		       ? 0
		       : -1;
}

static void target_release(struct target *t)
{
	curl_free(t->host);
	curl_free(t->port);
	curl_free(t->scheme);
	curl_free(t->whole);
	curl_url_cleanup(t->url);
}

/*
 * Apply client->server_name: curl gets it in the URL, for SNI and verification, but
 * connects to the host, which is also in the Host header.
 */
static void set_server_name(struct call *c, struct target *t, const char *name)
{
	if (!name || !*name || !is_tls(t))
		return;
	if (strchr(name, ':'))
		name = arena_printf(&c->arena, "[%s]", name);
	if (curl_url_set(t->url, CURLUPART_HOST, name, 0) ||
	    curl_url_get(t->url, CURLUPART_URL, &t->whole, 0))
		return;
	c->connect_to =
		curl_slist_append(NULL, arena_printf(&c->arena, "%s:%s:%s:%s", name,
						     t->port, t->host, t->port));
	c->headers = curl_slist_append(c->headers,
				       arena_printf(&c->arena, "Host: %s", c->host));
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
	curl_easy_setopt(c->easy, CURLOPT_CONNECT_TO, c->connect_to);
	curl_easy_setopt(c->easy, CURLOPT_URL, t->whole);
}

/* The scheme by which a proxy is chosen; that of a WebSocket is no other. */
static const char *proxied_scheme(const struct target *t)
{
	return is_tls(t) ? "https" : "http";
}

/* True: the URL has the origin of the slot's last call, "https://host:6443". */
static bool is_same_origin(const struct slot *s, const char *url)
{
	const char *path = s->origin ? str_after(url, s->origin) : NULL;

	return path && *path == '/';
}

static int keep_origin(struct call *c, struct slot *s, const struct target *t)
{
	const struct proxy_target target = { proxied_scheme(t), t->host, t->port,
					     c->client->all_proxy };
	const char *url = c->req->url, *host = strstr(url, "://");
	const char *path = host ? strchr(host + 3, '/') : NULL;

	s->origin = s->host = NULL;
	s->proxy = (struct proxy){ 0 };
	arena_clear(&s->arena);
	if (c->client->proxy)
		s->proxy = *c->client->proxy;
	else if (proxy_of_environment(&s->proxy, &s->arena, &target, c->err))
		return -1;
	s->host = arena_strdup(&s->arena, c->host);
	s->origin = path ? str_slice(&s->arena, url, (size_t)(path - url)) : NULL;
	return 0;
}

/* The URL for messages, without its query, which may have signatures or secrets. */
static const char *without_query(struct arena *a, const char *url)
{
	return str_visible(a, str_slice(a, url, strcspn(url, "?#")), false);
}

static int set_target(struct call *c, struct slot *s)
{
	const struct http_client *client = c->client;
	struct target t = { 0 };
	int rc;

	if (!client->server_name && is_same_origin(s, c->req->url)) {
		c->host = s->host;
		return 0;
	}
	rc = parse_target(&t, c->req->url);
	if (rc && strchr(c->req->url, '@')) { /* there may be a password in it */
		error_set(c->err, ERR_INVALID,
			  "invalid URL: remove the user name from it");
	} else if (rc) {
		error_set(c->err, ERR_INVALID, "invalid URL: %s",
			  without_query(&c->arena, c->req->url));
	} else {
		c->host = arena_printf(&c->arena, "%s:%s", t.host, t.port);
		set_server_name(c, &t, client->server_name);
		if (is_tls(&t))
			rc = call_load_trust(c);
		if (!rc)
			rc = keep_origin(c, s, &t);
	}
	target_release(&t);
	return rc;
}

/*
 * Values may come from peers (an ETag, a metadata server's token): refuse line breaks,
 * which could inject headers or requests.
 */
static int check_headers(struct call *c)
{
	for (const char *const *h = c->req->headers; h && *h; h++)
		if (strpbrk(*h, "\r\n"))
			return error_set(
				c->err, ERR_INVALID,
				"%s: request not sent: header %.*s contains a line break",
				c->host, (int)strcspn(*h, ":\r\n"), *h);
	return 0;
}

/* How long the server may be silent; 0: for ever. */
static int64_t silence_ms(const struct call *c)
{
	const struct http_request *req = c->req;

	if (c->heard_ms || req->first_ms)
		return c->heard_ms ? req->idle_ms : req->first_ms;
	return req->idle_ms && !req->timeout_ms ? FIRST_MS : 0;
}

bool call_must_end(struct call *c)
{
	const struct http_request *req = c->req;
	int64_t ms = silence_ms(c), since = c->heard_ms ? c->heard_ms : c->began_ms;
	bool cancelled = req->cancel && __atomic_load_n(req->cancel, __ATOMIC_ACQUIRE);
	bool stopped = stop_requested() && !c->client->after_stop;

	if (stopped || cancelled)
		error_set(c->err, ERR_STOPPED, "%s: stopped", c->host);
	else if (ms && clock_ms() - since > ms)
		error_set(c->err, ERR_TIMEOUT, "%s: no data received for %lld s", c->host,
			  (long long)ms / 1000);
	else
		return false;
	c->failed = true;
	return true;
}

void call_init(struct call *c, struct http_client *client, const struct http_request *req,
	       struct error *err)
{
	*c = (struct call){
		.client = client,
		.req = req,
		.err = err,
		.host = "?",
		.began_ms = clock_ms(),
		.resp = { .retry_after_ms = -1,
			  .body = { .max = req->max_body ? req->max_body
							 : DEFAULT_BODY } },
	};
}

int call_prepare(struct call *c, struct slot *s)
{
	c->easy = s->easy;
	set_tls(c);
	set_connection(c);
	set_request(c);
	if (set_target(c, s) || check_headers(c))
		return -1;
	c->proxy = &s->proxy;
	set_proxy(c);
	return 0;
}

static void release(struct call *c)
{
	curl_easy_reset(c->easy); /* remove pointers to this call */
	curl_slist_free_all(c->headers);
	curl_slist_free_all(c->connect_to);
	arena_clear(&c->arena);
}

void call_drop(struct call *c)
{
	release(c);
	http_response_release(&c->resp);
}

int call_finish(struct call *c, CURLcode code, struct http_response *ret)
{
	if (!code && !c->failed && c->resp.status < 100) {
		c->failed = true;
		error_set(c->err, ERR_FORMAT, "%s: invalid HTTP status %d", c->host,
			  c->resp.status);
	}
	if (code || c->failed) {
		call_fail(c, code);
		call_drop(c);
		return -1;
	}
	release(c);
	if (!c->resp.body.data)
		buf_adds(&c->resp.body, "");
	*ret = c->resp;
	return 0;
}
