/*
 * want.h - the query of a stream (live.h). No I/O.
 */
#ifndef UI_WANT_H
#define UI_WANT_H

#include "base/arena.h"
#include "net/httpd.h"

enum { WANT_PLOTS = 8, WANT_LINES = 20000 /* of a log, at most */ };

/* The id of the last event that the viewer saw, VERSION.TAIL.LINE. { 0 }: none. */
struct want_id {
	uint64_t version, tail, line;
};

/* Members are NULL or 0 without a valid value; strings are in the arena. */
struct want {
	bool rows;
	const char *label;
	const char *key, *ns, *job; /* "ns/job", and its parts: valid names */
	char **plots;               /* keys, at most WANT_PLOTS, then NULL */
	const char *only;           /* "node-0,node-1" of the log; NULL: all */
	int64_t lines;              /* of the log; 0: none */
	struct want_id id;
};

/* The header Last-Event-ID is preferred to `after`. */
struct want want_read(struct arena *arena, const struct httpd_request *req);

/* False, and { 0 }: it is none. */
bool want_id_read(struct want_id *ret, struct arena *arena, const char *text);

#endif
