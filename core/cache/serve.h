/*
 * serve.h - the data cache's two servers, as upstream's LeaderWorkerSet runs them.
 *
 * The head knows which worker has which rows and tells clients (GetFlightInfo); a worker
 * has rows in memory and sends them (DoGet). The head gives workers their rows when they
 * appear, in any order, and again when they restart. Both speak Arrow Flight and answer
 * GET /ready on a port of their own.
 */
#ifndef CACHE_SERVE_H
#define CACHE_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct cache_worker_place {
	char *host;
	int port;
};

struct arena;

/*
 * Who may call: `judge` says it of a request's Authorization header (NULL: none). 0: yes;
 * -1: no, ERR_BUSY if that cannot be found out, ERR_DENIED if it is known who calls; 1:
 * not known yet, the handler of `watch` is called once it is. It does not block.
 */
struct cache_auth {
	int (*judge)(void *ctx, const char *authorization, struct error *err);
	/* From any thread; with NULL no more. Or NULL, where judge() never says 1. */
	void (*watch)(void *ctx, void (*news)(void *arg), void *arg);
	/* The header line with which a head calls its workers. */
	const char *(*header)(void *ctx, struct arena *arena);
	void *ctx;
};

struct cache_conf {
	const char *host;
	int port, health_port;   /* 0: any */
	const char *health_host; /* NULL: all addresses, as upstream's */
	const char *(*env)(void *ctx, const char *name); /* as places_conf's */
	const char *location;                            /* of the table: METADATA_LOC */
	const char *snapshot; /* of a head: as table_conf's; workers follow */
	uint64_t memory;      /* hard limit, for rows and for decoding; 0: none */
	const char *spill;    /* directory for rows beyond it; or NULL */
	struct cache_worker_place *workers; /* of a head */
	int n_workers;
	struct cache_auth auth; /* { NULL }: everybody may call */
	/*
	 * PEM files: the server's certificate and key, NULL: no TLS; and the CAs that a
	 * head trusts, NULL: the system's. A head with TLS calls its workers with it.
	 */
	const char *tls_cert, *tls_key, *ca_file;
	int64_t takeover_ms; /* after which others load a worker's rows; 0: never */
};

/* Until the process is asked to stop; running streams then get 5 s. They log. */
MUST_CHECK int cache_worker_run(const struct cache_conf *conf, struct error *err);
MUST_CHECK int cache_head_run(const struct cache_conf *conf, struct error *err);

#endif
