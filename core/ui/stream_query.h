/*
 * stream_query.h - the query of a stream (live.h). No I/O.
 */
#ifndef UI_STREAM_QUERY_H
#define UI_STREAM_QUERY_H

#include "base/arena.h"
#include "net/httpd.h"

enum { STREAM_PLOTS = 8, STREAM_LINES = 20000 /* of a log, at most */ };

/* The id of the last event that the viewer received, VERSION.TAIL.LINE. { 0 }: none. */
struct stream_event_id {
	uint64_t version, tail, line;
};

/* Members are NULL or 0 without a valid value; strings are in the arena. */
struct stream_query {
	bool rows;
	const char *label;
	const char *key, *ns, *job; /* "ns/job", and its parts: valid names */
	char **plots;               /* keys, at most STREAM_PLOTS, then NULL */
	const char *only;           /* "node-0,node-1" of the log; NULL: all */
	int64_t lines;              /* of the log; 0: none */
	struct stream_event_id id;
};

/* The header Last-Event-ID has precedence over `after`. */
struct stream_query stream_query_read(struct arena *arena,
				      const struct httpd_request *req);

/* False, and *ret is { 0 }: not an id. */
bool stream_event_id_read(struct stream_event_id *ret, struct arena *arena,
			  const char *text);

#endif
