/*
 * http.h - an HTTP/1.1 and HTTP/2 client (libcurl), blocking, thread-safe.
 *
 * A client has a pool of connections: a call reuses an idle one or opens one. Any number
 * of threads may call at once. A call ends early with ERR_STOPPED when the process is
 * asked to stop (base/stop.h).
 *
 * Redirects are not followed (redirect.h); no cookies, no credentials in URLs; only http
 * and https. Proxies: conf->proxy, or by the environment when it is NULL (proxy.h).
 *
 * Errors: ERR_IO (name, connection, TLS handshake; the message names the host and what to
 * check), ERR_UNTRUSTED (the server's certificate, always that of TLS), ERR_TIMEOUT,
 * ERR_LIMIT (response too long), ERR_FORMAT, ERR_INVALID (the request). An HTTP status is
 * not an error here. Messages and logs never contain a header's value or a URL's query.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct http_client;

/*
 * TLS sessions to share among clients of the same servers: a connection resumes one
 * instead of verifying the certificate again (RFC 8446, 2.2). They are separated by
 * server, trusted CA and client identity. Must outlive its clients.
 */
struct http_sessions;
struct http_sessions *http_sessions_new(void);
void http_sessions_free(struct http_sessions *s);

/* Everything but the sessions is copied. */
struct http_conf {
	/*
	 * Trusted CAs: the text, or the file, or a directory of files; both NULL: the
	 * system's (see http.c) and those of SSL_CERT_DIR.
	 */
	const char *ca_pem, *ca_file;
	/*
	 * The setting that names them, for messages; NULL: SSL_CERT_FILE, or with ca_pem
	 * none.
	 */
	const char *ca_setting;
	const char *cert_pem, *key_pem; /* the client's own, or NULL */
	/* Expected in the certificate; http_is_server_name(). NULL, "": the URL's host. */
	const char *server_name;
	const char *proxy; /* URL (proxy-url of a kubeconfig); "" for none */
	const char *user_agent;
	bool go_proxy;   /* ALL_PROXY does not count */
	bool insecure;   /* do not verify the server at all */
	bool http1;      /* do not offer HTTP/2 */
	bool h2c;        /* http is HTTP/2, without asking (RFC 9113, 3.3) */
	bool after_stop; /* calls continue when the process is asked to stop */
	size_t max_idle; /* idle connections in the pool; 0: 16 */
	struct http_sessions *sessions; /* NULL: its own */
	size_t receive_bytes;           /* most that on_data gets at once; 0: 16 KiB */
};

MUST_CHECK int http_client_new(struct http_client **ret, const struct http_conf *conf,
			       struct error *err);
void http_client_free(struct http_client *client); /* no call may be in progress */

struct http_request {
	const char *method; /* "GET" */
	const char *url;
	/* "Name: value"; ends with NULL. A line break in one: ERR_INVALID, unsent. */
	const char *const *headers;
	const void *body;
	size_t body_len;
	const struct cJSON *doc; /* the same, if inside_server.documents; or NULL */
	/*
	 * Instead of `body`, with the same body_len: puts at most `max` bytes of the body
	 * from `at` into `data`, how many into *ret_n (0 is an error). Returns -1 with
	 * err filled to end the call with that error.
	 */
	int (*read)(void *ctx, size_t at, void *data, size_t max, size_t *ret_n,
		    struct error *err);
	void *read_ctx;
	/*
	 * Not idempotent: sent on a new connection. On a reused one libcurl resends the
	 * request if the connection breaks before the first byte of the response.
	 */
	bool once;
	int64_t timeout_ms; /* for all of it; 0: none */
	int64_t idle_ms;    /* without a byte from the server, after the first; 0: none */
	int64_t first_ms; /* until the first; 0: five minutes if only idle_ms limits it */
	size_t max_body;  /* of the answer; 0: 64 MiB */
	size_t receive_bytes; /* most that on_data gets at once; 0: the client's */
	/*
	 * Instead of collecting the body of a 2xx response: called with each piece.
	 * Returns -1 with err filled to end the call with that error.
	 */
	int (*on_data)(void *ctx, const void *data, size_t len, struct error *err);
	/*
	 * Called with each header of the response (the final one, after 100 Continue),
	 * before any of the body, without line breaks; `status` is the response's. -1
	 * ends the call as on_data's does, so that a wrong Content-Range or ETag costs no
	 * body. Or NULL.
	 */
	int (*on_header)(void *ctx, int status, const char *name, const char *value,
			 struct error *err);
	void *ctx;
	const bool *cancel;   /* set by another thread, checked each second; or NULL */
	const int *cancel_fd; /* readable once it is set, to react at once; or NULL */
};

struct http_response {
	int status;
	struct buf body;        /* its data ends with 0 */
	struct cJSON *doc;      /* in place of body (inside.h); or NULL */
	int64_t retry_after_ms; /* Retry-After, else of 429 RateLimit; -1: none */
	int64_t date;           /* Date, the server's clock: since 1970; 0: none */
	char **warnings;    /* texts of Warning headers (code 299), NULL-ended; or NULL */
	char *content_type; /* without parameters; or NULL */
	char *location;     /* Location, as it was sent; or NULL */
};
void http_response_release(struct http_response *r);
/*
 * For code that makes responses: set a header field; fields without a member are dropped.
 */
void http_response_field(struct http_response *r, const char *name, char *value);
#define cleanup_http_response __attribute__((cleanup(http_response_release)))

/* Make a call. Upon success, with any status, *ret is the caller's, to be released. */
MUST_CHECK int http_do(struct http_client *client, const struct http_request *req,
		       struct http_response *ret, struct error *err);

/* A date of HTTP in seconds since 1970; 0: NULL, or none (RFC 9110, 5.6.7). */
int64_t http_date(const char *text);

/*
 * NULL for "http://HOST[:PORT]..." and "https://..." without user, query and fragment.
 * Else what `url` is, a constant: "not a URL with ...", "an IPv6 address without ...".
 */
const char *http_server_fault(const char *url);
/* True for "", and for what certificates are issued for: a host name, an IP address. */
bool http_is_server_name(const char *s);

/* True for an entity tag, such as "x" or W/"x", with its quotes (RFC 9110, 8.8.3). */
bool http_is_etag(const char *s);

/* Percent-encode for a path segment or a query value (RFC 3986, 2.3). */
void http_escape(struct buf *out, const char *s);
void http_escape_path(struct buf *out, const char *path); /* leaves '/' as it is */

#endif
