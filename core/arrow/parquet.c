/* Opens Parquet files: parquet.h. */
#include "arrow/parquet.h"

#include <stdio.h>
#include <string.h>

#include "arrow/bits.h"
#include "arrow/parquet_impl.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum { MAX_FOOTER = 256 * 1024 * 1024, HEAD = 4, MAX_HEADER = 100, MAX_CREATOR = 64 };

int parquet_tail(struct range *ret, const uint8_t *tail, uint64_t file_size,
		 struct error *err)
{
	uint64_t len = bits_load_u32(tail);

	if (file_size < HEAD + PARQUET_TAIL)
		return error_set(err, ERR_FORMAT, "no Parquet file: it has %llu bytes",
				 (unsigned long long)file_size);
	if (!memcmp(tail + 4, "PARE", 4))
		return error_set(err, ERR_UNSUPPORTED,
				 "encrypted (its footer is): "
				 "encrypted Parquet files cannot be read");
	if (memcmp(tail + 4, "PAR1", 4))
		return error_set(err, ERR_FORMAT,
				 "no Parquet file, or cut short: "
				 "it does not end with PAR1");
	if (len > file_size - HEAD - PARQUET_TAIL)
		return error_set(err, ERR_FORMAT,
				 "damaged: metadata of %llu bytes in a file of %llu",
				 (unsigned long long)len, (unsigned long long)file_size);
	if (len > MAX_FOOTER)
		return error_set(err, ERR_LIMIT, "metadata of %llu bytes, more than %d",
				 (unsigned long long)len, MAX_FOOTER);
	*ret = (struct range){ file_size - PARQUET_TAIL - len, len };
	return 0;
}

static struct range stated_chunk(const struct parquet *p, size_t group, size_t leaf)
{
	const struct column_chunk *c = parquet_column(p, group, leaf);
	bool dictionary = c->dictionary_page > 0 && c->dictionary_page < c->data_page;

	return (struct range){ (uint64_t)(dictionary ? c->dictionary_page : c->data_page),
			       (uint64_t)c->compressed };
}

struct range parquet_chunk(const struct parquet *p, size_t group, size_t leaf)
{
	struct range at = stated_chunk(p, group, leaf);
	uint64_t after = p->file_size - at.offset - at.len;

	if (p->omits_header)
		at.len += after < MAX_HEADER ? after : MAX_HEADER;
	return at;
}

static int check_chunk(const struct parquet *p, size_t group, size_t leaf,
		       struct error *err)
{
	const struct column_chunk *c = parquet_column(p, group, leaf);
	struct range at;

	if (c->encrypted)
		return error_set(err, ERR_UNSUPPORTED,
				 "encrypted: encrypted Parquet files cannot be read");
	if (c->in_other_file)
		return error_set(err, ERR_UNSUPPORTED, "its data is in another file");
	if (c->type != p->schema.leaves[leaf].physical)
		return error_set(err, ERR_FORMAT, "physical type %d, %d in the schema",
				 c->type, p->schema.leaves[leaf].physical);
	if (!codec_known(c->codec))
		return error_set(err, ERR_UNSUPPORTED, "compression %d (%s)", c->codec,
				 codec_name(c->codec) ? codec_name(c->codec) : "unknown");
	if (c->n_values < 0 || c->compressed < 0 || c->data_page < 0)
		return error_set(err, ERR_FORMAT, "damaged metadata");
	at = stated_chunk(p, group, leaf);
	if (at.offset > p->file_size || at.len > p->file_size - at.offset)
		return error_set(
			err, ERR_FORMAT, "%llu bytes at %llu, in a file of %llu bytes",
			(unsigned long long)at.len, (unsigned long long)at.offset,
			(unsigned long long)p->file_size);
	return 0;
}

static int check_group(const struct parquet *p, size_t i, struct error *err)
{
	const struct row_group *g = parquet_group(p, i);

	if (g->columns.n != p->schema.n_leaves || g->n_rows < 0)
		return error_set(err, ERR_FORMAT,
				 "row group %zu: %zu columns and %lld rows, %zu columns "
				 "in the schema",
				 i, g->columns.n, (long long)g->n_rows,
				 p->schema.n_leaves);
	for (size_t leaf = 0; leaf < g->columns.n; leaf++)
		if (check_chunk(p, i, leaf, err))
			return error_wrap(err, "row group %zu, column %s", i,
					  p->schema.leaves[leaf].path);
	return 0;
}

static int check_groups(const struct parquet *p, struct error *err)
{
	int64_t rows = 0;

	for (size_t i = 0; i < p->footer.groups.n; i++)
		if (check_group(p, i, err) ||
		    __builtin_add_overflow(rows, parquet_group(p, i)->n_rows, &rows))
			return err->kind ? -1
					 : error_set(err, ERR_FORMAT, "too many rows");
	/* parquet-rs 0.3 wrote 0 */
	if (p->footer.n_rows && rows != p->footer.n_rows)
		return error_set(err, ERR_FORMAT, "%lld rows, %lld in its row groups",
				 (long long)p->footer.n_rows, (long long)rows);
	return 0;
}

/* parquet-mr before 1.2.9 left the header of the dictionary out of a chunk's size. */
static bool omits_header(struct thrift_bytes created_by)
{
	cleanup_arena struct arena arena = { 0 };
	size_t len = created_by.len < MAX_CREATOR ? created_by.len : MAX_CREATOR;
	const char *by = str_slice(&arena, (const char *)created_by.data, len);
	int major = 0, minor = 0, patch = 0;

	if (!str_after(by, "parquet-mr"))
		return false;
	(void)sscanf(by, "parquet-mr version %4d.%4d.%4d", &major, &minor, &patch);
	return major * 10000 + minor * 100 + patch < 10209;
}

static int load(struct parquet *p, const void *footer, size_t len, struct error *err)
{
	struct budget own = { 0 };
	int rc = -1;

	if (block_reserve(&p->bytes, p->budget, len, 1, err))
		return -1;
	memcpy(p->bytes.data, footer, len);
	own.limit = budget_left(p->budget);
	if (!footer_read(&p->footer, p->bytes.data, len, &own, &p->arena, err))
		rc = p->footer.encrypted
			     ? error_set(err, ERR_UNSUPPORTED,
					 "encrypted: encrypted Parquet files "
					 "cannot be read")
			     : schema_build(&p->schema, &p->footer, &own, &p->arena, err);
	if (rc || budget_take(p->budget, own.used, err))
		return -1;
	p->taken = own.used;
	p->omits_header = omits_header(p->footer.created_by);
	return check_groups(p, err);
}

int parquet_open(struct parquet **ret, const void *footer, size_t len, uint64_t file_size,
		 struct budget *budget, struct error *err)
{
	cleanup_parquet struct parquet *p = xcalloc(1, sizeof(*p));

	p->budget = budget;
	p->file_size = file_size;
	if (load(p, footer, len, err))
		return -1;
	*ret = STEAL(p);
	return 0;
}

void parquet_free(struct parquet *p)
{
	if (!p)
		return;
	budget_give(p->budget, p->taken);
	block_free(&p->bytes);
	arena_clear(&p->arena);
	free(p);
}

const struct field *parquet_columns(const struct parquet *p, size_t *ret_n)
{
	*ret_n = p->schema.n_fields;
	return p->schema.fields;
}

struct field *parquet_columns_mut(struct parquet *p, size_t *ret_n)
{
	*ret_n = p->schema.n_fields;
	return p->schema.fields;
}

void parquet_int96_us(struct parquet *p)
{
	for (size_t i = 0; i < p->schema.n_leaves; i++)
		if (p->schema.leaves[i].physical == PHYS_INT96)
			p->schema.leaves[i].field->unit = ARROW_US;
}

size_t parquet_groups(const struct parquet *p)
{
	return p->footer.groups.n;
}

int64_t parquet_rows(const struct parquet *p, size_t group)
{
	return parquet_group(p, group)->n_rows;
}

uint64_t parquet_bytes(const struct parquet *p, size_t group)
{
	double all = 1;

	for (size_t i = 0; i < p->schema.n_leaves; i++) {
		const struct column_chunk *c = parquet_column(p, group, i);
		double least =
			(double)c->n_values * (p->schema.leaves[i].field->width + 1.0);

		all += (double)c->uncompressed > least ? (double)c->uncompressed : least;
	}
	return all < (double)INT64_MAX ? (uint64_t)all : INT64_MAX;
}

/* An empty list has an entry, but no value. */
static double least_values(const struct column_chunk *c, const struct leaf_type *leaf,
			   double rows)
{
	if (!leaf->max_rep)
		return (double)c->n_values;
	return leaf->max_rep == 1 && (double)c->n_values > rows
		       ? (double)c->n_values - rows
		       : 0;
}

/*
 * Plain strings take as much as in Arrow, apart from levels (at most a byte) and page
 * headers. Dictionary indexes take 4 bytes.
 */
static double least_strings(const struct column_chunk *c, double offsets)
{
	double beside = (double)c->n_values * (c->dictionary_page > 0 ? 5 : 1);
	double stored = .9 * ((double)c->uncompressed - beside);

	return stored > offsets ? stored : offsets;
}

static double least_bytes(const struct column_chunk *c, const struct leaf_type *leaf,
			  double rows)
{
	double n = least_values(c, leaf, rows);
	enum arrow_kind kind = leaf->field->kind;

	if (kind == ARROW_STRING || kind == ARROW_BINARY)
		return least_strings(c, 4 * n);
	return kind == ARROW_BOOL ? n / 8 : n * leaf->field->width;
}

static double least_of_field(const struct parquet *p, size_t group, const struct field *f,
			     bool even)
{
	double sum = 0, rows = (double)parquet_rows(p, group);

	for (size_t leaf = f->first_leaf; leaf < f->first_leaf + f->n_leaves; leaf++) {
		const struct leaf_type *type = &p->schema.leaves[leaf];

		if (!even || (!type->max_rep && type->field->width))
			sum += least_bytes(parquet_column(p, group, leaf), type, rows);
	}
	return sum;
}

uint64_t parquet_least_bytes(const struct parquet *p, size_t group, const bool *columns,
			     bool even)
{
	double sum = 0;

	for (size_t i = 0; i < p->schema.n_fields; i++) {
		const struct field *f = &p->schema.fields[i];

		if (!columns || (columns[i] && f->n_leaves == 1))
			sum += least_of_field(p, group, f, even);
	}
	return sum < (double)INT64_MAX ? (uint64_t)sum : INT64_MAX;
}

int64_t parquet_batch_rows(const struct parquet *p, size_t group, uint64_t bytes)
{
	double n = (double)parquet_rows(p, group) * (double)bytes /
		   (double)parquet_bytes(p, group);

	return n < 1 ? 1 : n > INT32_MAX ? INT32_MAX : (int64_t)n;
}

size_t parquet_leaves(const struct parquet *p)
{
	return p->schema.n_leaves;
}
