/*
 * fetch.h - download what a URI names into a directory: parallel, resumable, verified.
 *
 * Files come as ranges over a pool of kept connections (HTTP/1.1): few at first, more
 * while they are slow. A file is written under a temporary name (target.h) with a journal
 * of the ranges it has (journal.h), hashed in order behind the writes (verify.h), synced
 * and renamed; at the end a manifest records what was fetched (ledger.h). A file that is
 * present is not fetched again if its size, time and contents are those of the manifest,
 * or its digest matches. Under its final name a file is always complete and verified.
 *
 * After a kill, the next run fetches again only what was in flight. If the source changes
 * (If-Match, ETag) or a digest does not match, that file restarts once; then it is an
 * error. 408, 429, 5xx, broken, stalled and refused connections and names that do not
 * resolve are retried with growing pauses, conf->tries times without progress, honoring
 * Retry-After.
 *
 * Memory: fixed buffers, and some 200 bytes per listed file.
 */
#ifndef STORE_FETCH_H
#define STORE_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "store/filter.h"
#include "store/scheme.h"

enum fetch_event {
	FETCH_PRESENT,   /* present already, and verified */
	FETCH_STARTED,   /* the bytes that are present already */
	FETCH_RESTARTED, /* the source changed, or its digest did not match */
	FETCH_DONE,      /* verified if the source has a digest, and in place */
	FETCH_EVENTS
};
extern const char *const fetch_event_words[FETCH_EVENTS];

/* Progress. */
struct fetch_progress {
	size_t files, files_done;
	int64_t bytes;         /* of the files whose size is known */
	int64_t bytes_done;    /* of those: present, resumed, fetched */
	int64_t bytes_fetched; /* received in this run */
	size_t files_unsized;  /* files of unknown size */
	unsigned connections;
	int64_t ms; /* since the start */
};

enum { FETCH_MAX_CONNECTIONS = 64, FETCH_CONNECTIONS = 16 };

/*
 * How much a client with that many connections should receive at once: larger means fewer
 * calls; 16 MiB for all together. 0: FETCH_CONNECTIONS.
 */
size_t fetch_receive_bytes(unsigned connections);

struct fetch_conf {
	const struct scheme *scheme;
	struct store *store;
	const char *uri; /* for the manifest */
	struct http_client *http;
	const char *target; /* the directory; created if needed */
	const struct filter *filter;
	const struct map *paths; /* below the target: only these; NULL: all */
	unsigned connections;    /* at most; 0: FETCH_CONNECTIONS */
	int tries;               /* < 0: RETRY_TRIES */
	bool unverified;         /* check sizes only, no digests */
	bool recheck;            /* hash what is present, whatever the manifest says */
	bool allow_empty;        /* an empty listing is not an error */
	int64_t max_bytes;       /* of all files, as listed: more is ERR_LIMIT; 0: any */
	/* Ten times per second, from the calling thread; each may be NULL. */
	void (*tick)(void *ctx, const struct fetch_progress *now);
	/* From any thread, one at a time. */
	void (*file)(void *ctx, enum fetch_event event, const char *path, int64_t bytes);
	void (*say)(void *ctx, const char *line);
	void *ctx;
};

/*
 * *ret is always filled. Errors name the object: ERR_STOPPED (base/stop.h; progress is
 * kept), ERR_NOT_FOUND, ERR_DENIED, ERR_CONFLICT (it keeps changing), ERR_FORMAT (wrong
 * digest, twice), ERR_IO (network; disk full, err->code ENOSPC), ...
 */
MUST_CHECK int fetch_run(const struct fetch_conf *conf, struct fetch_progress *ret,
			 struct error *err);

#endif
