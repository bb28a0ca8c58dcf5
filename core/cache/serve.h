/*
 * serve.h - the data cache's two servers, as upstream's LeaderWorkerSet runs them.
 *
 * The head answers GetFlightInfo with the workers and their rows; workers hold rows in
 * memory and send them (DoGet). The head assigns rows to workers when they appear, in any
 * order, and again when they restart. Both serve Arrow Flight, and GET /ready on a
 * separate port.
 */
#ifndef CACHE_SERVE_H
#define CACHE_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct cache_address {
	char *host;
	int port;
};

struct arena;

/*
 * Authentication. judge() decides by a request's Authorization header (NULL: none) and
 * its client's address, without blocking. 0: allowed; -1: refused (ERR_DENIED: a known
 * caller without the right; ERR_BUSY: it cannot be decided now); 1: not decided yet, the
 * function given to watch() is called once it is.
 */
struct cache_auth {
	int (*judge)(void *ctx, const char *peer, const char *authorization,
		     struct error *err);
	/*
	 * Set the function to call on decisions, from any thread; NULL: none. May be NULL
	 * if judge() never returns 1.
	 */
	void (*watch)(void *ctx, void (*news)(void *arg), void *arg);
	/* The header line that a head sends to its workers. */
	const char *(*header)(void *ctx, struct arena *arena);
	void *ctx;
};

struct cache_conf {
	const char *host;
	int port, health_port;   /* 0: any */
	const char *health_host; /* NULL: all addresses, as upstream's */
	const char *(*env)(void *ctx, const char *name); /* as locations_conf's */
	const char *location;                            /* the table: METADATA_LOC */
	const char *snapshot; /* as table_conf's; workers get it from the head */
	uint64_t memory;      /* hard limit in bytes, for rows and decoding; 0: none */
	const char *spill;    /* directory for rows beyond it; or NULL */
	struct cache_address *workers; /* of a head */
	int n_workers;
	struct cache_auth auth;      /* { NULL }: everyone may call */
	struct cache_auth head_auth; /* of heads that assign rows; { NULL }: claim.h */
	/*
	 * PEM files: the server's certificate and key, NULL: no TLS; and the CAs that a
	 * head trusts, NULL: the system's. A head with TLS calls its workers with it.
	 */
	const char *tls_cert, *tls_key, *ca_file;
	int64_t takeover_ms; /* after which others load a missing worker's rows; 0: never */
};

/* Serve until the process is asked to stop; running streams then get 5 s. Both log. */
MUST_CHECK int cache_worker_run(const struct cache_conf *conf, struct error *err);
MUST_CHECK int cache_head_run(const struct cache_conf *conf, struct error *err);

#endif
