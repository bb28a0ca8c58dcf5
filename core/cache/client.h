/*
 * client.h - reads rows from the data cache's servers, ours or upstream's.
 */
#ifndef CACHE_CLIENT_H
#define CACHE_CLIENT_H

#include "arrow/ipc.h"
#include "base/json.h"

struct client_conf {
	const char *head;    /* "grpc://HOST:PORT" or "grpc+tls://HOST:PORT" */
	const char *ca_file; /* PEM, for TLS; NULL: the system's CAs */
	const char *command; /* JSON of plan.h; NULL: a path, as upstream's clients */
	int64_t rank, world; /* of the path, if command is NULL */
	const char *header;  /* "Authorization: Bearer ..."; or NULL */
	/*
	 * Called once with the schema, then with each batch, in order. -1 with err filled
	 * ends the read.
	 */
	int (*on_schema)(void *ctx, const struct field *fields, size_t n,
			 struct error *err);
	int (*on_batch)(void *ctx, const struct batch *b, struct error *err);
	/*
	 * Returns memory for the body of the next batch: `len` bytes and BLOCK_SLACK,
	 * aligned to 8; owned by the callee. NULL: the client uses its own memory.
	 */
	int (*allocate)(void *ctx, uint8_t **ret, size_t len, struct error *err);
	void *ctx;
};

/* The rows and columns of a table to request. */
struct client_request {
	int64_t rank, world;
	const cJSON *filter;  /* as in view.h; NULL: all rows */
	const char *snapshot; /* NULL: any */
	const char *const *columns;
	size_t n_columns; /* 0: all */
};
/* client_conf.command; free() it. NULL: a path suffices, which any head understands. */
char *client_command(const struct client_request *r);

bool client_is_server(const char *uri); /* "grpc://..." or "grpc+tls://..." */

/*
 * Read all rows of the shard, from one worker after another. ERR_FORMAT: more or fewer
 * rows than the head's total_records, unless that is unknown (as with a filter).
 */
MUST_CHECK int client_read(const struct client_conf *conf, struct error *err);

/* ---- the same without I/O: the calls to make, and what their messages mean ---- */

struct client_reader;
struct client_call {
	const char *uri, *path; /* "grpc://HOST:PORT", "/package.Service/Method" */
	const void *message;
	size_t len;
};

struct client_reader *client_begin(const struct client_conf *conf); /* must outlive it */
/* The call to make now, valid until the next one. False: all rows have been read. */
bool client_next(struct client_reader *r, struct client_call *ret);
/* A message of its answer; as grpc_request's on_message. */
MUST_CHECK int client_message(void *r, const void *data, size_t len, struct error *err);
/* The call has ended: rc. -1: so has the read; 0: go on with client_next(). */
MUST_CHECK int client_answered(struct client_reader *r, int rc);
/* At the end: ERR_FORMAT if there were more or fewer rows than announced. */
MUST_CHECK int client_check(const struct client_reader *r, struct error *err);
void client_end(struct client_reader *r);

#endif
