/*
 * dump.c - the columns of Parquet files as bytes, for tests/cache/matrix.py to compare.
 *
 *   dump [-b ROWS] [-m BYTES] [-r FIRST:END] [-c COLUMN,...] [-s SNAPSHOT] [-e] FILE...
 *   dump -l [-m BYTES] FILE
 *
 * A batch: "B", its rows and columns; each array, then its children: kind, rows, nulls and
 * the lengths of validity, offsets and values (-1: absent) as int64, then these. -e reads
 * each file alone, and writes a line for each, its error or a checksum. -l loads all rows
 * into memory, as a server of the cache keeps them, and writes nothing. Otherwise the error
 * is one line on stderr.
 */
#include <inttypes.h>
#include <unistd.h>

#include "arrow/bits.h"
#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "cache/memtable.h"

struct wanted {
	int64_t batch, first, end;
	size_t memory;
	const char *columns, *snapshot;
	bool each, load;
	FILE *to;
};

static void put(FILE *to, int64_t v)
{
	fwrite(&v, sizeof(v), 1, to);
}

static int64_t values_bytes(const struct array *a)
{
	const struct field *f = a->field;

	if (f->kind == ARROW_BOOL)
		return (a->n + 7) / 8;
	if (f->kind == ARROW_STRING || f->kind == ARROW_BINARY)
		return ((const int32_t *)(const void *)a->offsets.data)[a->n];
	return a->n * f->width;
}

static void dump_array(FILE *to, const struct array *a)
{
	int64_t validity = a->validity.data ? (a->n + 7) / 8 : -1;
	int64_t offsets = a->offsets.data ? (a->n + 1) * 4 : -1;
	int64_t values = field_has_children(a->field) ? 0 : values_bytes(a);

	put(to, a->field->kind);
	put(to, a->n);
	put(to, a->n_null);
	put(to, validity);
	put(to, offsets);
	put(to, values);
	if (validity > 0)
		fwrite(a->validity.data, 1, (size_t)validity, to);
	if (offsets > 0)
		fwrite(a->offsets.data, 1, (size_t)offsets, to);
	if (values > 0)
		fwrite(a->values.data, 1, (size_t)values, to);
	for (size_t i = 0; i < a->field->n_children; i++)
		dump_array(to, &a->children[i]);
}

static void dump_batch(FILE *to, const struct batch *b)
{
	putc('B', to);
	put(to, b->n);
	put(to, (int64_t)b->n_columns);
	for (size_t i = 0; i < b->n_columns; i++)
		dump_array(to, &b->columns[i]);
}

static bool *columns_of(const struct table *t, const char *list)
{
	size_t n;
	const struct field *f = table_columns(t, &n);
	bool *wanted = xcalloc(n + 1, sizeof(*wanted));

	for (size_t i = 0; i < n; i++) {
		cleanup_arena struct arena a = { 0 };

		wanted[i] = !list || strstr(arena_printf(&a, ",%s,", list),
					    arena_printf(&a, ",%s,", f[i].name));
	}
	return wanted;
}

static int dump(const struct wanted *w, struct table *t, struct error *err)
{
	cleanup_free bool *columns = columns_of(t, w->columns);
	struct rows rows = { w->first, w->end < 0 ? table_rows(t) : w->end };
	cleanup_table_scan struct table_scan *s =
		table_scan_new(t, rows, columns, w->batch);
	for (;;) {
		cleanup_batch struct batch b = { 0 };

		if (table_next(s, &b, err))
			return -1;
		if (!b.n)
			return 0;
		dump_batch(w->to, &b);
	}
}

static int run(const struct wanted *w, char **paths, size_t n, struct error *err)
{
	struct budget budget = { .limit = w->memory };
	struct locations *locations = locations_new(&(struct locations_conf){ 0 });
	const struct table_conf conf = { .locations = locations,
					 .budget = &budget,
					 .uris = paths,
					 .n = n,
					 .snapshot = w->snapshot };
	struct table *t = NULL;
	int rc = table_open(&t, &conf, err);

	if (!rc)
		rc = dump(w, t, err);
	table_free(t);
	locations_free(locations);
	if (budget.used)
		rc = error_set(err, ERR_INVALID,
			       "BUG: %zu bytes of the budget are not given back",
			       budget.used);
	return rc;
}

static int load(const struct wanted *w, const char *path, struct error *err)
{
	const struct dataset_conf conf = { .location = path, .memory = w->memory };
	const struct memtable_conf to = { .memory = UINT64_MAX };
	struct memtable *m = NULL;
	struct dataset *d;
	int rc;

	if (dataset_open(&d, &conf, err))
		return -1;
	rc = memtable_load(&m, d, (struct rows){ 0, table_rows(dataset_table(d)) }, &to,
			   err);
	memtable_unref(m);
	return rc;
}

static ssize_t add_checksum(void *crc, const char *data, size_t len)
{
	*(uint32_t *)crc = codec_crc32(*(uint32_t *)crc, data, len);
	return (ssize_t)len;
}

/* One line: the checksum of what would have been written, or the error. */
static void run_alone(struct wanted w, char *path)
{
	struct error err = { 0 };
	uint32_t crc = 0;
	int rc;

	w.to = fopencookie(&crc, "w", (cookie_io_functions_t){ .write = add_checksum });
	rc = run(&w, &path, 1, &err);
	fclose(w.to);
	if (rc)
		printf("error %s\n", err.msg);
	else
		printf("rows %08x\n", crc);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct wanted w = { .to = stdout, .end = -1, .memory = (size_t)1 << 30 };
	struct error err = { 0 };
	char *end = NULL;
	int c;

	while ((c = getopt(argc, argv, "b:m:r:c:s:el")) >= 0) {
		if (c == 'b')
			w.batch = strtoll(optarg, NULL, 10);
		if (c == 'm')
			w.memory = strtoull(optarg, NULL, 10);
		if (c == 'r') {
			w.first = strtoll(optarg, &end, 10);
			w.end = strtoll(end + 1, NULL, 10);
		}
		if (c == 'c')
			w.columns = optarg;
		if (c == 's')
			w.snapshot = optarg;
		w.each |= c == 'e';
		w.load |= c == 'l';
	}
	for (; w.each && optind < argc; optind++)
		run_alone(w, argv[optind]);
	if (w.each)
		return 0;
	if (w.load ? !load(&w, argv[optind], &err)
		   : !run(&w, argv + optind, (size_t)(argc - optind), &err))
		return 0;
	fflush(stdout);
	fprintf(stderr, "%s\n", err.msg);
	return 1;
}
