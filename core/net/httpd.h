/*
 * httpd.h - a small HTTP/1.1 server (RFC 9112), with or without TLS.
 *
 * For a few clients with long connections (an API server, kubelets, Prometheus, training
 * processes), and safe against anything else that reaches the port: every size and wait
 * is limited, slow connections are closed, and when all slots are in use an idle
 * connection is closed: of the peer with the most, the one idle longest. One thread per
 * connection.
 *
 * Supported: Content-Length and chunked bodies, keep-alive, Expect: 100-continue,
 * pipelining. Ambiguous requests (both lengths, two lengths, obsolete folding, bad
 * characters) get 400 and are closed. A request line has at most 8 KiB, the head 16 KiB
 * and 100 headers; two empty lines may precede it. HEAD is handled like GET, without
 * sending the body. The handler runs in the connection's thread (base/thread.h).
 */
#ifndef NET_HTTPD_H
#define NET_HTTPD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct httpd;
struct httpd_stream;
struct tls_server;
struct tls_client_ca;

struct httpd_request {
	const char *method, *path, *query; /* path as sent, before '?'; query may be "" */
	const unsigned char *body;         /* body[body_len] is 0 */
	size_t body_len;
	const struct cJSON *doc;            /* in place of body (inside.h); or NULL */
	bool wants_doc;                     /* the answer may have one, too */
	int64_t content_length;             /* as claimed, or -1 (chunked); 0: none */
	const char *peer;                   /* address */
	const struct httpd_header *headers; /* ends with { NULL } */
	struct httpd_stream *client;        /* for httpd_listens(); NULL: not known */
};
struct httpd_header {
	const char *name, *value;
};
/* The value of a header, by its name in any case; NULL: missing, or duplicated. */
const char *httpd_header(const struct httpd_request *req, const char *name);

/*
 * A body sent in pieces (chunked). httpd_send() blocks while the peer does not read; a
 * peer that reads nothing for request_ms is dropped: -1, after which nothing more is
 * sent.
 */
struct httpd_stream { /* to a connection, or to a caller in this process (inside.h) */
	int (*send)(struct httpd_stream *s, const void *data, size_t len);
	bool (*listens)(struct httpd_stream *s);
};
MUST_CHECK static inline int httpd_send(struct httpd_stream *s, const void *data,
					size_t len)
{
	return s->send(s, data, len);
}
/* True: the peer is still connected, and the server not stopping. Does not block. */
static inline bool httpd_listens(struct httpd_stream *s)
{
	return s->listens(s);
}

struct httpd_response {
	int status;               /* 0: 404 */
	const char *content_type; /* NULL: text/plain; charset=utf-8 */
	struct buf headers;       /* additional header lines; max 0: none */
	struct buf body;          /* to fill, up to 64 MiB; owned by the server */
	struct cJSON *doc;        /* in place of body, if wants_doc; owned likewise */
	/*
	 * Instead of the body: called in the connection's thread to send it piece by
	 * piece. release(ctx) is then called, even if nothing was sent.
	 */
	void (*stream)(void *ctx, struct httpd_stream *s);
	void (*release)(void *ctx);
	void *stream_ctx;
};

/* Answer with a JSON document and a newline, of at most max bytes. */
void httpd_answer_json(struct httpd_response *resp, int status, const struct cJSON *doc,
		       size_t max);

struct httpd_conf {
	const char *host;       /* "" or NULL: all addresses, IPv6 and IPv4 */
	int port;               /* 0: any, see httpd_port() */
	struct tls_server *tls; /* NULL: plain */
	const struct tls_client_ca
		*client_ca; /* with tls: require certificates; or NULL */
	/*
	 * 0: 64 KiB. A larger body: on_large, or 413. The bytes beyond 64 KiB of all
	 * bodies together may be 4 * max_body + 16 MiB; beyond that: 503.
	 */
	size_t max_body;
	/* 0: 128, 64. At a limit, a new connection closes an idle one or is refused. */
	int max_connections, max_per_peer;
	int64_t request_ms; /* for a request to arrive, from its first byte; 0: 10 s */
	int64_t idle_ms;    /* between requests; 0: 120 s. A handshake: 10 s at most */
	void (*handle)(void *ctx, const struct httpd_request *req,
		       struct httpd_response *resp);
	/* Called instead of handle() with a request whose body is too large; or NULL. */
	void (*on_large)(void *ctx, const struct httpd_request *req,
			 struct httpd_response *resp);
	void *ctx;
};

/* The server listens when it returns. conf's strings are copied. */
MUST_CHECK int httpd_start(struct httpd **ret, const struct httpd_conf *conf,
			   struct error *err);
int httpd_port(const struct httpd *d);

/*
 * Stop accepting connections, give open requests grace_ms to arrive and be answered, wait
 * for handlers that run longer, and free the server.
 */
void httpd_stop(struct httpd *d, int64_t grace_ms);

#endif
