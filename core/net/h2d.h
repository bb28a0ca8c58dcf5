/*
 * h2d.h - a server of HTTP/2: over TLS (ALPN h2), or without (h2c, prior knowledge).
 *
 * A few threads wait with epoll for all connections; the handler runs in one of them and
 * must not block. Bodies go from where they are to the socket: the kernel makes the only
 * copy; under TLS, that is the copy that encrypts. A peer that does not read costs no
 * memory. Handshakes do not block a thread; they have a deadline, and of too many at once
 * the oldest ones are closed.
 */
#ifndef NET_H2D_H
#define NET_H2D_H

#include "net/h2.h"

struct h2d;

struct h2d_conf {
	const char *host;    /* "" or NULL: all addresses, IPv6 and IPv4 */
	int port;            /* 0: any, see h2d_port() */
	int threads;         /* 0: 2 */
	int max_connections; /* 0: 1024; beyond, the one idle longest is closed */
	struct h2_conf h2;
	struct tls_server *tls; /* outlives it; NULL: no TLS */
	struct h2_conf plain;   /* what peers without TLS get from a server with TLS */
	int64_t handshake_ms;   /* 0: 10 s */
	int max_handshakes;     /* at a time; 0: 256 */
	/* Of a connection that breaks the protocol: how; or NULL. */
	void (*on_broken)(void *ctx, const struct error *err);
	void *ctx;
};

/* Listens when it returns. */
MUST_CHECK int h2d_start(struct h2d **ret, const struct h2d_conf *conf,
			 struct error *err);
/* Handles again what has no answer yet, soon; from any thread. */
void h2d_resume(struct h2d *d);
int h2d_port(const struct h2d *d);

/*
 * Takes no more connections and streams; those under way get grace_ms to end, then their
 * connections are closed. Frees.
 */
void h2d_stop(struct h2d *d, int64_t grace_ms);

#endif
