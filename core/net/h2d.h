/*
 * h2d.h - an HTTP/2 server: over TLS (ALPN h2), or without (h2c, prior knowledge).
 *
 * A few threads serve all connections with epoll; the handler runs in one of them and
 * must not block. Bodies are written to the socket directly; the only copy is the
 * kernel's or, with TLS, that of encryption. What is made for a peer that does not read
 * it is limited. Handshakes do not block a thread; they have a time limit, and if there
 * are too many, the oldest one of the address with the most is closed. Requests that are
 * not complete in time, and idle connections, are closed; one address cannot have all
 * connections.
 */
#ifndef NET_H2D_H
#define NET_H2D_H

#include "net/h2.h"

struct h2d;

struct h2d_conf {
	const char *host;    /* "" or NULL: all addresses, IPv6 and IPv4 */
	int port;            /* 0: any, see h2d_port() */
	int threads;         /* 0: 2 */
	int max_connections; /* 0: 1024; beyond it, the longest idle one is closed */
	int max_per_peer;    /* of an address (IPv6: of a /64), likewise; 0: a quarter */
	/*
	 * Bytes of requests that wait to be handled, of all connections; one address may
	 * have half of them. 0: no limit.
	 */
	size_t max_waiting;
	/* Bytes that responses hold for one address, which need not read them. 0: no limit. */
	size_t max_held;
	int64_t request_ms; /* for a request to be complete, also the first; 0: 30 s */
	int64_t idle_ms;    /* without a request; 0: 60 s */
	struct h2_conf h2;
	struct tls_server *tls; /* must outlive it; NULL: no TLS */
	struct h2_conf plain;   /* with tls: serves peers that do not use TLS; or { 0 } */
	int64_t handshake_ms;   /* 0: 10 s */
	int max_handshakes;     /* at a time; 0: 256 */
	/* Called with the protocol error of a connection; or NULL. */
	void (*on_broken)(void *ctx, const struct error *err);
	void *ctx;
};

/* The server listens when it returns. */
MUST_CHECK int h2d_start(struct h2d **ret, const struct h2d_conf *conf,
			 struct error *err);
/* Judge again, soon, requests with H2_LATER; from any thread. */
void h2d_resume(struct h2d *d);
int h2d_port(const struct h2d *d);

/*
 * Stop accepting connections and streams, give open ones grace_ms to end, close their
 * connections, and free the server.
 */
void h2d_stop(struct h2d *d, int64_t grace_ms);

#endif
