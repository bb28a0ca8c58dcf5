/* gpu_feed.c - put batches of the data cache into GPU memory (gpu/feed.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "cache/auth.h"
#include "cache/client.h"
#include "cmd/cmd.h"
#include "gpu/discover.h"
#include "gpu/feed.h"

struct feed_opts {
	int64_t rank, world, ring, size, timeout_ms, source_ms, join_ms;
	const char *socket, *gpus, *token_file, *ca_file;
	struct opt_strs columns;
};

enum {
	PAGE = 4096,
	RING = 4,
	ALIGN = 64, /* bytes: arrays that are copied within a buffer */
	MAX_TEXT = 1 << 24,
	MINUTE_MS = 60000,
};
static const int64_t SIZE = 16 << 20, MAX_SIZE = 1 << 30;

static const struct opt opts_table[] = {
	OPT_STR(0, "socket", "PATH", "Unix socket for the ranks' processes",
		struct feed_opts, socket),
	OPT_STR(0, "gpus", "N,...",
		"CUDA device of each rank, in the order of ranks (default: 0)",
		struct feed_opts, gpus),
	OPT_INT(0, "rank", "R", "shard of this node, counted from 0", struct feed_opts,
		rank, 0, INT64_MAX),
	OPT_INT(0, "world", "N", "number of nodes that share the rows (default: 1)",
		struct feed_opts, world, 1, INT64_MAX),
	OPT_STRS(0, "column", "NAME", "column to read (default: all); repeatable",
		 struct feed_opts, columns),
	OPT_INT(0, "ring", "N", "buffers per rank (default: 4)", struct feed_opts, ring,
		2, FEED_RING_MAX),
	OPT_INT(0, "buffer-size", "BYTES",
		"size of a buffer, which holds one batch (default: 16 MiB)",
		struct feed_opts, size, PAGE, MAX_SIZE),
	OPT_DURATION(0, "timeout", "TIME",
		     "limit for each call of NVIDIA's libraries (default: 10s)",
		     struct feed_opts, timeout_ms, 1, OPT_LONGEST),
	OPT_DURATION(0, "source-timeout", "TIME",
		     "limit for the next batch from the cache (default: 1m)",
		     struct feed_opts, source_ms, 1, OPT_LONGEST),
	OPT_DURATION(0, "join-timeout", "TIME",
		     "how long to wait for a rank without a process (default: 5m)",
		     struct feed_opts, join_ms, 1, OPT_LONGEST),
	OPT_STR(0, "token-file", "FILE", "file with the bearer token for the cache",
		struct feed_opts, token_file),
	OPT_STR(0, "ca-file", "FILE",
		"with grpc+tls://: CAs to trust (default: the system's)",
		struct feed_opts, ca_file),
	{ .type = OPT_END },
};

/* ---- columns, as JSON ----------------------------------------------------------------- */

static const char *const kinds[] = {
	[ARROW_NULL] = "null",      [ARROW_BOOL] = "bool",
	[ARROW_INT8] = "int8",      [ARROW_INT16] = "int16",
	[ARROW_INT32] = "int32",    [ARROW_INT64] = "int64",
	[ARROW_UINT8] = "uint8",    [ARROW_UINT16] = "uint16",
	[ARROW_UINT32] = "uint32",  [ARROW_UINT64] = "uint64",
	[ARROW_HALF] = "float16",   [ARROW_FLOAT] = "float32",
	[ARROW_DOUBLE] = "float64", [ARROW_DECIMAL] = "decimal",
	[ARROW_DATE] = "date32",    [ARROW_TIME32] = "time32",
	[ARROW_TIME64] = "time64",  [ARROW_TIMESTAMP] = "timestamp",
	[ARROW_FIXED] = "fixed",    [ARROW_STRING] = "string",
	[ARROW_BINARY] = "binary",  [ARROW_LIST] = "list",
	[ARROW_MAP] = "map",        [ARROW_STRUCT] = "struct",
};

static cJSON *describe_all(const struct field *fields, size_t n);

static cJSON *describe(const struct field *f)
{
	static const char *const units[] = { "", "ms", "us", "ns" };
	cJSON *doc = cJSON_CreateObject();

	json_put_str(doc, f->name, "name");
	json_put_str(doc, kinds[f->kind], "type");
	json_put_int(doc, f->width, "width");
	if (f->kind == ARROW_DECIMAL) {
		json_put_int(doc, f->precision, "precision");
		json_put_int(doc, f->scale, "scale");
	}
	if (f->unit > 0 && f->unit <= ARROW_NS)
		json_put_str(doc, units[f->unit], "unit");
	if (f->utc)
		json_put_bool(doc, true, "utc");
	if (f->n_children)
		json_put(doc, describe_all(f->children, f->n_children), "children");
	return doc;
}

static cJSON *describe_all(const struct field *fields, size_t n)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(list, describe(&fields[i]));
	return list;
}

/* ---- offsets of a batch's arrays in its buffer ----------------------------------- */

struct filling {
	uint8_t *buffer;
	size_t body, used, size; /* bytes: the message's body; in use; the buffer */
	struct buf *out;
	bool full;
};

/* Append ",OFFSET,LENGTH" of the data. Data outside the body is copied behind it. */
static void place_bytes(struct filling *to, const uint8_t *data, size_t len)
{
	size_t at = (to->used + ALIGN - 1) / ALIGN * ALIGN;

	if (!data) {
		buf_adds(to->out, ",-1,0");
		return;
	}
	if (data >= to->buffer && data < to->buffer + to->body) {
		at = (size_t)(data - to->buffer);
	} else if (len <= to->size && at <= to->size - len) {
		memcpy(to->buffer + at, data, len);
		to->used = at + len;
	} else {
		to->full = true;
	}
	buf_printf(to->out, ",%zu,%zu", at, len);
}

/* The number of elements in each row; -1: rows differ. */
static int64_t list_size(const struct array *a)
{
	const uint32_t *offsets = (const uint32_t *)(const void *)a->offsets.data;
	int64_t size = a->n ? (int64_t)offsets[1] : -1;

	if (a->n && offsets[0])
		return -1;
	for (int64_t i = 1; i < a->n && size >= 0; i++)
		if (offsets[i + 1] - offsets[i] != size)
			size = -1;
	return size;
}

static size_t values_len(const struct array *a)
{
	size_t n = (size_t)a->n;

	switch (a->field->kind) {
	case ARROW_BOOL:
		return (n + 7) / 8;
	case ARROW_STRING:
	case ARROW_BINARY:
		return n ? ((const uint32_t *)(const void *)a->offsets.data)[n] : 0;
	default:
		return n * a->field->width;
	}
}

/* [rows, nulls, size, validity, len, offsets, len, values, len], then the children's. */
static void place_array(struct filling *to, const struct array *a)
{
	const struct field *f = a->field;
	bool listed = f->kind == ARROW_LIST || f->kind == ARROW_MAP;

	buf_printf(to->out, "%s[%" PRId64 ",%" PRId64 ",%" PRId64,
		   to->out->len > 1 ? "," : "", a->n, a->n_null,
		   listed && a->offsets.data ? list_size(a) : -1);
	place_bytes(to, a->validity.data, ((size_t)a->n + 7) / 8);
	place_bytes(to, a->offsets.data, ((size_t)a->n + 1) * 4);
	place_bytes(to, a->values.data, values_len(a));
	buf_adds(to->out, "]");
	for (size_t i = 0; a->children && i < f->n_children; i++)
		place_array(to, &a->children[i]);
}

/* ---- the cache ------------------------------------------------------------------------- */

struct source {
	const struct feed_opts *opts;
	const char *uri, *header;
	char *command; /* NULL: all columns, by a path that upstream's servers understand */
	struct gpu_feed *feed;
	size_t size;
	uint8_t *buffer; /* the buffer being filled */
	size_t body;
	int64_t rows;
	pthread_t thread;
};

static int on_schema(void *ctx, const struct field *fields, size_t n, struct error *err)
{
	struct source *s = ctx;
	cleanup_json cJSON *doc = describe_all(fields, n);
	cleanup_free char *text = json_text(doc);

	return gpu_feed_columns(s->feed, text, err);
}

static int allocate(void *ctx, uint8_t **ret, size_t len, struct error *err)
{
	struct source *s = ctx;

	if (len > s->size - BLOCK_SLACK)
		return error_set(err, ERR_LIMIT,
				 "a batch of %zu bytes does not fit in a buffer of %zu; "
				 "use a larger --buffer-size",
				 len, s->size);
	if (gpu_feed_acquire(s->feed, &s->buffer, err))
		return -1;
	s->body = len;
	*ret = s->buffer;
	return 0;
}

static int on_batch(void *ctx, const struct batch *b, struct error *err)
{
	struct source *s = ctx;
	cleanup_buf struct buf arrays = { .max = MAX_TEXT };
	struct filling to = { .buffer = s->buffer,
			      .body = s->body,
			      .used = s->body,
			      .size = s->size,
			      .out = &arrays };

	buf_adds(&arrays, "[");
	for (size_t i = 0; i < b->n_columns; i++)
		place_array(&to, &b->columns[i]);
	buf_adds(&arrays, "]");
	if (buf_check(&arrays, "a batch's arrays", err))
		return -1;
	if (to.full)
		return error_set(err, ERR_LIMIT,
				 "a batch does not fit in a buffer of %zu bytes; use a "
				 "larger --buffer-size",
				 s->size);
	s->rows += b->n;
	return gpu_feed_send(s->feed, to.used, b->n, (const char *)arrays.data, err);
}

static void *read_cache(void *ctx)
{
	struct source *s = ctx;
	const struct client_conf conf = {
		.head = s->uri,
		.ca_file = s->opts->ca_file,
		.command = s->command,
		.rank = s->opts->rank,
		.world = s->opts->world ? s->opts->world : 1,
		.header = s->header,
		.on_schema = on_schema,
		.on_batch = on_batch,
		.allocate = allocate,
		.ctx = s,
	};
	struct error err;

	if (client_read(&conf, &err))
		gpu_feed_fail(s->feed, &err);
	else
		gpu_feed_end(s->feed);
	return NULL;
}

static char *command_of(const struct feed_opts *opts)
{
	const struct client_request r = { .rank = opts->rank,
					  .world = opts->world ? opts->world : 1,
					  .columns = opts->columns.list,
					  .n_columns = opts->columns.n };

	return client_command(&r);
}

/* ---- the command ------------------------------------------------------------------------ */

static int choose_gpus(struct gpu_feed_conf *conf, const char *list, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	char **numbers = str_split(&arena, list ? list : "0", ',', NULL);
	int64_t number;

	for (; *numbers; numbers++) {
		if (conf->n_ranks == FEED_RANKS_MAX)
			return error_set(err, ERR_USAGE, "--gpus: more than %d",
					 FEED_RANKS_MAX);
		if (str_int(&number, *numbers, 0, FEED_RANKS_MAX - 1, err)) {
			error_wrap(err, "--gpus");
			err->kind = ERR_USAGE;
			return -1;
		}
		conf->devices[conf->n_ranks++] = (uint8_t)number;
	}
	return 0;
}

static void say(void *ctx, const char *line)
{
	cmd_complain("gpu-feed", "%s", line);
}

static int configure(struct gpu_feed_conf *conf, const struct feed_opts *opts, int argc,
		     struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	int64_t size = opts->size ? opts->size : SIZE;

	if (argc != 1 || !opts->socket)
		return error_set(err, ERR_USAGE,
				 "specify --socket PATH and the head of the cache, "
				 "grpc://HOST:PORT");
	if (opts->rank >= (opts->world ? opts->world : 1))
		return error_set(err, ERR_USAGE,
				 "--rank %" PRId64 ": out of range, --world is %" PRId64,
				 opts->rank, opts->world ? opts->world : 1);
	*conf = (struct gpu_feed_conf){
		.path = opts->socket,
		.ring = opts->ring ? (uint32_t)opts->ring : RING,
		.size = (size_t)(size + PAGE - 1) / PAGE * PAGE,
		.call_ms = opts->timeout_ms ? opts->timeout_ms : GPU_CALL_MS,
		.source_ms = opts->source_ms ? opts->source_ms : MINUTE_MS,
		.join_ms = opts->join_ms ? opts->join_ms : 5 * MINUTE_MS,
		.say = say,
	};
	if (choose_gpus(conf, opts->gpus, err))
		return -1;
	if (!gpu_present(gpu_dev()))
		return error_set(err, ERR_NOT_FOUND, "%s",
				 gpu_absence(&arena, gpu_dev()));
	return 0;
}

/* Run the feed; the thread of the source has ended when this returns. */
static int feed(struct source *s, const struct gpu_feed_conf *conf, struct error *err)
{
	int64_t began = clock_ms();
	int rc = gpu_feed_new(&s->feed, conf, err);

	if (!rc && !(rc = thread_start(&s->thread, read_cache, s, err))) {
		rc = gpu_feed_run(s->feed, err);
		if (rc) {
			gpu_feed_fail(s->feed, err);
			stop_request();
		}
		pthread_join(s->thread, NULL);
	}
	if (!rc)
		printf("%" PRId64 " rows in %" PRId64 " batches to %u ranks, %" PRId64
		       " ms\n",
		       s->rows, gpu_feed_batches(s->feed), conf->n_ranks,
		       clock_ms() - began);
	gpu_feed_free(s->feed);
	return rc;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct feed_opts *opts = values;
	cleanup_arena struct arena arena = { 0 };
	struct gpu_feed_conf conf;
	struct auth *auth = NULL;
	struct source s = { .opts = opts, .uri = argv[0] };
	int rc;

	if (configure(&conf, opts, argc, err) || stop_setup(err))
		return -1;
	s.size = conf.size;
	if (opts->token_file) {
		if (auth_new(&auth, opts->token_file, err))
			return error_wrap(err, "--token-file");
		s.header = auth_callbacks(auth).header(auth, &arena);
	}
	s.command = command_of(opts);
	rc = feed(&s, &conf, err);
	free(s.command);
	auth_free(auth);
	return rc ? -1 : EXIT_OK;
}

const struct cmd cmd_gpu_feed = {
	.name = "gpu-feed",
	.args = "grpc://HOST:PORT",
	.summary = "stream rows of the data cache into the memory of this node's GPUs",
	.about =
		"Each batch crosses the network once, is copied to the GPU of rank 0 and from\n"
		"there to the other ranks' GPUs. The process of each rank connects to the socket\n"
		"and reads the batches in place: examples/gpu_feed.py. Exits when each rank has\n"
		"received all rows.",
	.flags = CMD_IN_POD,
	.opts = opts_table,
	.opts_size = sizeof(struct feed_opts),
	.example =
		"kftrainer gpu-feed --socket /run/feed grpc://cache:50051\n"
		"kftrainer gpu-feed --socket /run/feed --gpus 0,1 --rank 3 --world 8 \\\n"
		"    grpc://cache:50051",
	.run = run,
};
