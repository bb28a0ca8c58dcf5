/*
 * range.h - read ranges of objects into memory: in parallel, with retries, of one
 * version.
 *
 * All bytes of an object (scheme.h) are of the version of the first response: its ETag is
 * sent as If-Match, and a changed object is ERR_CONFLICT. A range is cut into pieces,
 * which are requested at once over kept connections. 408, 425, 429, 5xx, broken, stalled
 * and refused connections are retried with growing pauses, conf->tries times without
 * progress, honoring Retry-After; redirects are followed, and expired signatures and
 * redirects are renewed. Local files are read as they are.
 *
 * Bytes are not verified: digests are those of whole objects.
 */
#ifndef STORE_RANGE_H
#define STORE_RANGE_H

#include "base/cleanup.h"
#include "store/scheme.h"

/* The source of objects, which it must outlive. */
struct range_conf {
	const struct scheme *scheme;
	struct store *store;
	struct http_client *http;
	unsigned connections; /* at most; 0: RANGE_CONNECTIONS */
	int tries;            /* 0: RETRY_TRIES */
};

enum { RANGE_CONNECTIONS = 16 };

struct range_object;

/*
 * Open an object. Copies `o`; `name` begins messages. o->size is checked, or requested if
 * -1. Errors as fetch.h's; ERR_UNSUPPORTED: a server without ranges.
 */
MUST_CHECK int range_open(struct range_object **ret, const struct range_conf *conf,
			  const struct store_object *o, const char *name,
			  struct error *err);
void range_close(struct range_object *o); /* NULL is fine */
int64_t range_size(const struct range_object *o);
const char *range_name(const struct range_object *o);
/*
 * After range_read(): the server's clock, and when the object was changed by it, in
 * seconds since 1970; 0: it does not say. Of local files it never does.
 */
void range_times(const struct range_object *o, int64_t *ret_now, int64_t *ret_changed);

struct range_want {
	uint64_t offset, len; /* within the object */
	void *to;
};

/* Read all of them, or fail with an error that names the object. Thread-safe. */
MUST_CHECK int range_read(struct range_object *o, const struct range_want *wants,
			  size_t n, struct error *err);

CLEANUP(range, struct range_object *, range_close);
#define cleanup_range __attribute__((cleanup(cleanup_rangep)))

#endif
