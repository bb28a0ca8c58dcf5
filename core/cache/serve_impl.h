/*
 * serve_impl.h - shared by head and worker, with the messages between them.
 *
 * The head reads a worker's state (action "health") and assigns rows (action
 * "assign"), both as JSON. "assign" has {"first", "end", "rows", "snapshot", "more":
 * [[first, end], ...], "table"}: the worker's own rows, the number of rows of the table,
 * its snapshot unless it is the current one, loans, and table_name(). Both answer
 * {"state", "first", "end", "rows", "table", "loaded", "bytes", "error", "more":
 * [{"state", "first", "end", ...}, ...]}.
 */
#ifndef CACHE_SERVE_IMPL_H
#define CACHE_SERVE_IMPL_H

#include "base/json.h"
#include "cache/dataset.h"
#include "cache/serve.h"
#include "net/grpc.h"

#define ACTION_HEALTH "health"
#define ACTION_STATS  "stats"
#define ACTION_ASSIGN "assign"

enum {
	CACHE_MAX_REQUEST = 64 << 20
}; /* upstream's head lists all files in one request */

enum cache_state { CACHE_WAITING, CACHE_LOADING, CACHE_READY, CACHE_FAILED };
extern const char *const cache_state_words[]; /* ends with NULL */

/*
 * Run the Flight and health servers until the process is asked to stop; running streams
 * then get 5 s. is_ready() is called from their threads.
 */
struct cache_servers_conf {
	const struct cache_conf *cache;
	const struct grpc_method *methods;
	bool (*is_ready)(void *ctx);
	void *ctx;
};
MUST_CHECK int cache_servers_run(const struct cache_servers_conf *conf,
				 struct error *err);

uint64_t cache_decode_memory(const struct cache_conf *conf);
MUST_CHECK int cache_open(struct dataset **ret, const struct cache_conf *conf,
			  const char *snapshot, const struct dataset_files *only,
			  struct error *err);

/* The result of an action: the document, as one message. */
void cache_reply_json(struct grpc_call *call, const cJSON *doc);

#endif
