/*
 * fetch.h - fetch all that a place has into a folder: in parallel, resumable, verified.
 *
 * Files come as ranges over a pool of connections that are kept alive (HTTP/1.1): few
 * at first, more while they are slow. A file is written in place under a temporary name
 * (target.h) with a journal of what is there (journal.h), hashed in the order of its
 * bytes behind the writes (verify.h), then fsync'ed and renamed; at the end a manifest
 * says what was fetched (ledger.h). A file that is there already and right is not
 * fetched again: its size, time and contents are those of the manifest, or its digest
 * is right. Nothing under a final name is ever wrong or half there.
 *
 * Killed at any moment, the next run fetches again what was in flight and no more.
 * A source that changes meanwhile (If-Match, ETag) or bytes with a wrong digest: that
 * file begins anew, once; then it is an error. 408, 429, 5xx, cut, stalled and refused
 * connections, names that do not resolve: asked again with growing pauses, as often as
 * conf->tries without progress between, honouring Retry-After.
 *
 * Memory: buffers of fixed sizes, some 200 bytes a file of the listing.
 */
#ifndef STORE_FETCH_H
#define STORE_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/filter.h"
#include "store/scheme.h"

enum fetch_event {
	FETCH_PRESENT,   /* it was there already, and right */
	FETCH_STARTED,   /* a part of it may be there: the bytes */
	FETCH_RESTARTED, /* it has changed, or its digest was wrong */
	FETCH_DONE,      /* verified, where the place gives a digest, and in place */
	FETCH_EVENTS
};
extern const char *const fetch_event_words[FETCH_EVENTS];

/* How far it is. */
struct fetch_now {
	size_t files, files_done;
	int64_t bytes;         /* of the files whose size is known */
	int64_t bytes_done;    /* of those: there already, resumed, fetched */
	int64_t bytes_fetched; /* that came over the network in this run */
	size_t files_unsized;  /* files whose size nobody knows yet */
	unsigned connections;
	int64_t ms; /* since it began */
};

enum { FETCH_MAX_CONNECTIONS = 64, FETCH_CONNECTIONS = 16 };

/*
 * What a client that fetches over at most so many connections should receive at once: the
 * more, the fewer calls and acknowledgements; all together 16 MiB. 0: FETCH_CONNECTIONS.
 */
size_t fetch_receive_bytes(unsigned connections);

struct fetch_conf {
	const struct scheme *scheme;
	struct store *store;
	const char *uri; /* for the manifest */
	struct http_client *http;
	const char *target; /* the folder; made if need be */
	const struct filter *filter;
	unsigned connections; /* at most; 0: FETCH_CONNECTIONS */
	int tries;            /* < 0: RETRY_TRIES */
	bool unverified; /* sizes only: the digests that the place gives are not looked at */
	bool recheck;    /* hash what is there, whatever the manifest says */
	bool allow_empty; /* no file at all is fine */
	/* Ten times a second, from the thread that called; each may be NULL. */
	void (*tick)(void *ctx, const struct fetch_now *now);
	/* From any thread, one at a time. */
	void (*file)(void *ctx, enum fetch_event event, const char *path, int64_t bytes);
	void (*say)(void *ctx, const char *line);
	void *ctx;
};

/*
 * *ret is filled in any case. Errors name the object: ERR_STOPPED (base/stop.h; what
 * is there stays), ERR_NOT_FOUND, ERR_DENIED, ERR_CONFLICT (it keeps changing),
 * ERR_FORMAT (wrong bytes, twice), ERR_IO (network; disk full, err->code ENOSPC), ...
 */
MUST_CHECK int fetch_run(const struct fetch_conf *conf, struct fetch_now *ret,
			 struct error *err);

#endif
