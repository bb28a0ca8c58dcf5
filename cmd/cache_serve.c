/* cache_serve.c - cache-serve: print rows of a table or of a server (cache/serve.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arrow/text.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/map.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/auth.h"
#include "cache/client.h"
#include "cache/table.h"
#include "cmd/cmd.h"
#include "cmd/ui/env.h"

enum { MAX_ROW = 1 << 30, FLUSH = 1 << 16, MAX_COLUMNS_NAMED = 64 };

struct cat_opts {
	int64_t rank, world, memory, retries;
	const char *snapshot, *filter, *token_file, *ca_file;
	int output;
	bool count;
	struct opt_strs columns;
};

static const char *const formats[] = { "json", "csv", NULL };

static const struct opt cat_table[] = {
	OPT_INT(0, "rank", "R", "print the rows of this rank, counted from 0",
		struct cat_opts, rank, 0, INT64_MAX),
	OPT_INT(0, "world", "N", "number of ranks that share the rows (default: 1)",
		struct cat_opts, world, 1, INT64_MAX),
	OPT_BOOL(0, "count", "print only the number of rows", struct cat_opts, count),
	OPT_STRS(0, "column", "NAME", "column to print (default: all); repeatable",
		 struct cat_opts, columns),
	OPT_ENUM('o', "output", "FORMAT", "output format", struct cat_opts, output,
		 formats),
	OPT_INT(0, "memory", "BYTES", "memory limit for decoding (default: 1 GiB)",
		struct cat_opts, memory, 1 << 20, INT64_MAX),
	OPT_STR(0, "filter", "JSON",
		"print only rows that match [[COLUMN, OPERATOR, LITERAL], ...]",
		struct cat_opts, filter),
	OPT_STR(0, "snapshot", "NAME",
		"Iceberg snapshot: an ID, branch or tag (default: the current one)",
		struct cat_opts, snapshot),
	OPT_INT(0, "retries", "N", "retries without progress in between (default: 6)",
		struct cat_opts, retries, 1, 1000),
	OPT_STR(0, "token-file", "FILE", "file with the bearer token to send to the head",
		struct cat_opts, token_file),
	OPT_STR(0, "ca-file", "FILE",
		"with grpc+tls://: CAs to trust (default: the system's)", struct cat_opts,
		ca_file),
	{ .type = OPT_END },
};

/* ---- columns ---- */

static int unknown_column(const struct field *fields, size_t n, const char *name,
			  struct error *err)
{
	const char *names[MAX_COLUMNS_NAMED + 1] = { 0 };
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < n && i < MAX_COLUMNS_NAMED; i++)
		names[i] = fields[i].name;
	return error_set(err, ERR_USAGE, "--column: no column '%s'%s", name,
			 nearest_hint(&arena, name, names));
}

/* Columns are in the table's order, not the options'. */
static int choose_columns(bool *chosen, const struct field *fields, size_t n,
			  const struct opt_strs *names, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		chosen[i] = !names->n;
	for (size_t k = 0; k < names->n; k++) {
		size_t i = 0;

		while (i < n && !str_eq(fields[i].name, names->list[k]))
			i++;
		if (i == n)
			return unknown_column(fields, n, names->list[k], err);
		chosen[i] = true;
	}
	return 0;
}

/* Refuse duplicate names where a column is identified by its name: JSON, --column, --filter. */
static int check_names(const struct cat_opts *opts, const struct field *fields, size_t n,
		       struct error *err)
{
	bool by_name =
		opts->columns.n || opts->filter || (opts->output != 1 && !opts->count);
	struct map seen = { 0 };
	int rc = 0;

	for (size_t i = 0; by_name && !rc && i < n; i++)
		if (map_put(&seen, fields[i].name, &seen))
			rc = error_set(err, ERR_UNSUPPORTED,
				       "two columns are called '%.100s'; print all with "
				       "-o csv",
				       fields[i].name);
	map_release(&seen, NULL);
	return rc;
}

/* ---- rows ---- */

static int flush(struct buf *out, struct error *err)
{
	if (buf_check(out, "a row", err))
		return -1;
	fwrite(out->data, 1, out->len, stdout);
	buf_clear(out);
	return 0;
}

static int print_batch(struct buf *out, const struct batch *b, bool csv,
		       struct error *err)
{
	for (int64_t row = 0; row < b->n; row++) {
		if (csv)
			text_csv_row(out, b, row);
		else
			text_json_row(out, b, row);
		if (out->len >= FLUSH && flush(out, err))
			return -1;
	}
	return flush(out, err);
}

/* The options of printing. */
struct view {
	const struct table *t;
	struct rows rows;
	bool *columns;
	struct predicate *filter; /* NULL: all rows */
};

static struct table_scan *scan_new(const struct view *v)
{
	struct table_scan *s = table_scan_new(v->t, v->rows, v->columns, 0);

	if (v->filter)
		table_scan_filter(s, v->filter);
	return s;
}

static int print_rows(const struct view *v, bool csv, struct error *err)
{
	cleanup_table_scan struct table_scan *s = scan_new(v);
	cleanup_buf struct buf out = { .max = MAX_ROW };
	size_t n;
	const struct field *fields = table_columns(v->t, &n);

	if (csv)
		text_csv_head(&out, fields, n, v->columns);
	while (!ferror(stdout)) {
		cleanup_batch struct batch b = { 0 };

		if (table_next(s, &b, err))
			return -1;
		if (!b.n)
			break;
		if (print_batch(&out, &b, csv, err))
			return -1;
	}
	return flush(&out, err);
}

static int count_rows(const struct view *v, int64_t *ret, struct error *err)
{
	cleanup_table_scan struct table_scan *s = NULL;
	size_t n;

	*ret = v->rows.end - v->rows.first;
	if (!v->filter)
		return 0;
	table_columns(v->t, &n);
	memset(v->columns, 0, n * sizeof(*v->columns));
	s = scan_new(v);
	for (*ret = 0;;) {
		cleanup_batch struct batch b = { 0 };

		if (table_next(s, &b, err))
			return -1;
		if (!b.n)
			return 0;
		*ret += b.n;
	}
}

static int show(const struct cat_opts *opts, struct view *v, struct error *err)
{
	size_t n;
	const struct field *fields = table_columns(v->t, &n);
	int64_t rows;

	if (check_names(opts, fields, n, err))
		return -1;
	if (choose_columns(v->columns, fields, n, &opts->columns, err))
		return -1;
	if (opts->filter && predicate_parse(&v->filter, opts->filter,
					    strlen(opts->filter), fields, n, err)) {
		err->kind = ERR_USAGE;
		return error_wrap(err, "--filter");
	}
	if (!opts->count)
		return print_rows(v, opts->output == 1, err);
	if (count_rows(v, &rows, err))
		return -1;
	printf("%" PRId64 "\n", rows);
	return 0;
}

static int cat(const struct cat_opts *opts, const struct table *t, struct error *err)
{
	struct view v = { .t = t };
	size_t n;
	int rc;

	v.rows = table_shard(table_rows(t), opts->rank, opts->world ? opts->world : 1);
	table_columns(t, &n);
	v.columns = xcalloc(n + 1, sizeof(*v.columns));
	rc = show(opts, &v, err);
	predicate_free(v.filter);
	free(v.columns);
	return rc;
}

/* ---- rows of a server ---- */

struct remote {
	const struct cat_opts *opts;
	struct buf out;
	int64_t n;
};

static int on_schema(void *ctx, const struct field *fields, size_t n, struct error *err)
{
	struct remote *r = ctx;
	cleanup_free bool *all = xcalloc(n + 1, sizeof(*all));

	memset(all, true, n);
	if (check_names(r->opts, fields, n, err))
		return -1;
	if (r->opts->output == 1 && !r->opts->count)
		text_csv_head(&r->out, fields, n, all);
	return buf_check(&r->out, "the columns", err);
}

static int on_batch(void *ctx, const struct batch *b, struct error *err)
{
	struct remote *r = ctx;

	r->n += b->n;
	if (r->opts->count)
		return 0;
	if (ferror(stdout))
		return error_set(err, ERR_IO, "cannot write the output");
	return print_batch(&r->out, b, r->opts->output == 1, err);
}

static int command_of(const struct cat_opts *opts, char **ret, struct error *err)
{
	cleanup_json cJSON *filter = NULL;
	struct client_request r = { .rank = opts->rank,
				    .world = opts->world ? opts->world : 1,
				    .snapshot = opts->snapshot,
				    .columns = opts->columns.list,
				    .n_columns = opts->columns.n };

	*ret = NULL;
	if (opts->filter && json_parse(&filter, opts->filter, strlen(opts->filter), err))
		return error_wrap(err, "--filter");
	r.filter = filter;
	*ret = client_command(&r);
	return 0;
}

static int read_server(const struct cat_opts *opts, const char *uri, const char *header,
		       struct error *err)
{
	cleanup_free char *command = NULL;
	struct remote r = { .opts = opts, .out.max = MAX_ROW };
	struct client_conf conf = { .head = uri,
				    .rank = opts->rank,
				    .world = opts->world ? opts->world : 1,
				    .header = header,
				    .ca_file = opts->ca_file,
				    .on_schema = on_schema,
				    .on_batch = on_batch,
				    .ctx = &r };
	int rc = command_of(opts, &command, err);

	conf.command = command;
	if (!rc)
		rc = client_read(&conf, err);
	if (!rc)
		rc = flush(&r.out, err);
	if (!rc && opts->count)
		printf("%" PRId64 "\n", r.n);
	buf_release(&r.out);
	return rc;
}

static int cat_server(const struct cat_opts *opts, int argc, const char *uri,
		      struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct auth *auth = NULL;
	const char *header = NULL;
	int rc;

	if (argc != 1)
		return error_set(err, ERR_USAGE, "%s: cannot be combined with other URIs",
				 uri);
	if (opts->token_file) {
		if (auth_new(&auth, opts->token_file, err))
			return error_wrap(err, "--token-file");
		header = auth_callbacks(auth).header(auth, &arena);
	}
	rc = read_server(opts, uri, header, err);
	auth_free(auth);
	return rc;
}

static void say(void *ctx, const char *line)
{
	fprintf(stderr, "%s\n", line);
}

static int run_cat(const void *values, int argc, char **argv, struct error *err)
{
	const struct cat_opts *opts = values;
	const struct locations_conf where = { .env = env_variable,
					      .say = say,
					      .tries = (int)opts->retries };
	struct budget budget = { .limit = opts->memory ? (size_t)opts->memory
						       : (size_t)1 << 30 };
	cleanup_locations struct locations *locations = NULL;
	cleanup_table struct table *t = NULL;
	struct table_conf conf = { .budget = &budget,
				   .uris = argv,
				   .n = (size_t)argc,
				   .snapshot = opts->snapshot };

	if (!argc)
		return error_set(
			err, ERR_USAGE,
			"specify a Parquet file, a directory or Iceberg metadata");
	if (opts->rank >= (opts->world ? opts->world : 1))
		return error_set(err, ERR_USAGE,
				 "--rank %" PRId64 ": out of range, --world is %" PRId64,
				 opts->rank, opts->world ? opts->world : 1);
	if (client_is_server(argv[0]))
		return cat_server(opts, argc, argv[0], err) ? -1 : EXIT_OK;
	conf.locations = locations = locations_new(&where);
	if (table_open(&t, &conf, err) || cat(opts, t, err))
		return -1;
	return EXIT_OK;
}

static const struct cmd cmd_cat = {
	.name = "cat",
	.args = "URI...",
	.summary = "print the rows of a table, or of the shard of one rank",
	.about =
		"A URI is a Parquet file, a directory of Parquet files, or the metadata file of\n"
		"an Iceberg table (file, pvc, s3, gs, http, https or hf, with credentials as for\n"
		"initialize-dataset), a local path, or the head of a data cache: grpc://HOST:PORT\n"
		"or grpc+tls://HOST:PORT. All files must have the same columns.\n"
		"\n"
		"Rows are numbered by file name, row group and row. The shard of rank R of N is\n"
		"contiguous and has floor or ceil of rows/N rows.\n"
		"\n"
		"JSON: decimals are strings, bytes base64, times ISO 8601. CSV: a null is empty,\n"
		"an empty string is quoted.",
	.example =
		"kftrainer cache-serve cat train.parquet | head\n"
		"kftrainer cache-serve cat --rank 3 --world 8 --count train.parquet\n"
		"kftrainer cache-serve cat --column id --column text -o csv train.parquet",
	.opts = cat_table,
	.opts_size = sizeof(struct cat_opts),
	.run = run_cat,
};

static const struct cmd *const sub[] = { &cmd_cat, &cmd_cache_head, &cmd_cache_pod,
					 &cmd_cache_worker, NULL };

const struct cmd cmd_cache_serve = {
	.name = "cache-serve",
	.args = "cat|head|pod|worker",
	.summary = "read tables in Parquet files, and serve them to training pods",
	.example = "kftrainer cache-serve cat train.parquet | head",
	.flags = CMD_IN_POD,
	.sub = sub,
};
