/* Reads Avro's object container files: avro.h. */
#include "arrow/avro.h"

#include <string.h>

#include "arrow/avro_schema.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum {
	MAGIC = 4,
	SYNC = 16,
	MAX_DEPTH = 100,
	MAX_META = 10000,
};

struct input {
	const uint8_t *p, *end;
};

struct avro {
	struct arena arena, values; /* values: of the current record */
	size_t taken;               /* taken from the budget for values */
	struct budget *budget;
	struct input file, block;
	struct block bytes; /* of a compressed block */
	const uint8_t *sync;
	struct map meta;
	const struct avro_type *type;
	bool compressed;
	enum stream stream;
	int64_t records; /* records of the block, not yet read */
	int depth;
};

static int truncated(struct error *err)
{
	return error_set(err, ERR_FORMAT, "Avro: damaged or cut short");
}

/* Zigzag, 7 bits a byte. */
static int read_long(struct input *in, int64_t *ret, struct error *err)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (in->p == in->end)
			return truncated(err);
		byte = *in->p++;
		v |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128)) {
			*ret = (int64_t)(v >> 1 ^ -(v & 1));
			return 0;
		}
	}
	return error_set(err, ERR_FORMAT, "Avro: a number of more than 64 bits");
}

static int take_bytes(struct input *in, struct bytes *ret, uint64_t n, struct error *err)
{
	if (n > (uint64_t)(in->end - in->p))
		return truncated(err);
	*ret = (struct bytes){ in->p, n };
	in->p += n;
	return 0;
}

static int read_bytes(struct input *in, struct bytes *ret, struct error *err)
{
	int64_t n;

	if (read_long(in, &n, err))
		return -1;
	return n < 0 ? truncated(err) : take_bytes(in, ret, (uint64_t)n, err);
}

/* ---- values ---- */

static int read_value(struct avro *a, const struct avro_type *t, struct avro_value *v,
		      struct error *err);

static int alloc_values(struct avro *a, struct avro_value **ret, uint64_t n,
			struct error *err)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, sizeof(**ret), &bytes))
		return error_set(err, ERR_LIMIT, "Avro: too many values");
	if (budget_take(a->budget, bytes, err))
		return -1;
	a->taken += bytes;
	*ret = arena_alloc(&a->values, bytes);
	return 0;
}

static int read_record(struct avro *a, const struct avro_type *t, struct avro_value *v,
		       struct error *err)
{
	if (alloc_values(a, &v->values, t->n, err))
		return -1;
	v->n = t->n;
	for (size_t i = 0; i < t->n; i++)
		if (read_value(a, t->members[i].type, &v->values[i], err))
			return -1;
	return 0;
}

/* Counts of blocks may be negative: then their size in bytes follows. */
static int read_count(struct avro *a, int64_t *ret, struct error *err)
{
	int64_t bytes;

	if (read_long(&a->block, ret, err))
		return -1;
	if (*ret >= 0)
		return 0;
	if (*ret == INT64_MIN || read_long(&a->block, &bytes, err))
		return err->kind ? -1 : truncated(err);
	*ret = -*ret;
	return 0;
}

static int read_array(struct avro *a, const struct avro_type *t, struct avro_value *v,
		      struct error *err)
{
	for (;;) {
		struct avro_value *all;
		int64_t n;

		if (read_count(a, &n, err))
			return -1;
		if (!n)
			return 0;
		if (alloc_values(a, &all, v->n + (uint64_t)n, err))
			return -1;
		if (v->n)
			memcpy(all, v->values, v->n * sizeof(*all));
		v->values = all;
		for (; n; n--)
			if (read_value(a, t->members[0].type, &v->values[v->n++], err))
				return -1;
	}
}

static int read_number(struct avro *a, const struct avro_type *t, struct avro_value *v,
		       struct error *err)
{
	if (read_long(&a->block, &v->number, err))
		return -1;
	if (t->kind == AVRO_INT && v->number != (int32_t)v->number)
		return error_set(err, ERR_FORMAT, "Avro: an int of more than 32 bits");
	if (t->kind == AVRO_ENUM && (v->number < 0 || (size_t)v->number >= t->size))
		return error_set(err, ERR_FORMAT, "Avro: an enum's symbol %lld of %zu",
				 (long long)v->number, t->size);
	return 0;
}

static int read_real(struct avro *a, const struct avro_type *t, struct avro_value *v,
		     struct error *err)
{
	float single;

	if (take_bytes(&a->block, &v->bytes, t->kind == AVRO_FLOAT ? 4 : 8, err))
		return -1;
	memcpy(&v->real, v->bytes.data, v->bytes.len);
	if (t->kind == AVRO_FLOAT) {
		memcpy(&single, v->bytes.data, sizeof(single));
		v->real = (double)single;
	}
	return 0;
}

static int read_union(struct avro *a, const struct avro_type *t, struct avro_value *v,
		      struct error *err)
{
	int64_t branch;

	if (read_long(&a->block, &branch, err))
		return -1;
	if (branch < 0 || (uint64_t)branch >= t->n)
		return error_set(err, ERR_FORMAT, "Avro: branch %lld of a union of %zu",
				 (long long)branch, t->n);
	return read_value(a, t->members[branch].type, v, err);
}

static int read_nested(struct avro *a, const struct avro_type *t, struct avro_value *v,
		       struct error *err)
{
	int rc;

	if (++a->depth > MAX_DEPTH)
		return error_set(err, ERR_LIMIT, "Avro: nested too deeply");
	rc = t->kind == AVRO_UNION    ? read_union(a, t, v, err)
	     : t->kind == AVRO_RECORD ? read_record(a, t, v, err)
				      : read_array(a, t, v, err);
	a->depth--;
	return rc;
}

static int read_value(struct avro *a, const struct avro_type *t, struct avro_value *v,
		      struct error *err)
{
	v->type = t;
	switch (t->kind) {
	case AVRO_NULL:
		return 0;
	case AVRO_BOOLEAN:
		if (take_bytes(&a->block, &v->bytes, 1, err))
			return -1;
		v->number = *v->bytes.data != 0;
		return 0;
	case AVRO_FLOAT:
	case AVRO_DOUBLE:
		return read_real(a, t, v, err);
	case AVRO_BYTES:
	case AVRO_STRING:
		return read_bytes(&a->block, &v->bytes, err);
	case AVRO_FIXED:
		return take_bytes(&a->block, &v->bytes, t->size, err);
	case AVRO_INT:
	case AVRO_LONG:
	case AVRO_ENUM:
		return read_number(a, t, v, err);
	default:
		return read_nested(a, t, v, err);
	}
}

/* ---- the file ---- */

static int read_meta(struct avro *a, struct error *err)
{
	struct bytes key, value;
	int64_t n, unused;

	for (;;) {
		if (read_long(&a->file, &n, err))
			return -1;
		if (n < 0 && read_long(&a->file, &unused, err))
			return -1;
		if (n > MAX_META || n < -MAX_META)
			return error_set(err, ERR_LIMIT, "Avro: %lld entries of metadata",
					 (long long)n);
		if (!n)
			return 0;
		for (n = n < 0 ? -n : n; n; n--) {
			if (read_bytes(&a->file, &key, err) ||
			    read_bytes(&a->file, &value, err))
				return -1;
			map_put(&a->meta,
				str_slice(&a->arena, (const char *)key.data, key.len),
				str_slice(&a->arena, (const char *)value.data,
					  value.len));
		}
	}
}

static int find_codec(struct avro *a, struct error *err)
{
	static const struct {
		const char *name;
		enum stream stream;
	} known[] = {
		{ "deflate", STREAM_DEFLATE },
		{ "snappy", STREAM_SNAPPY },
		{ "zstandard", STREAM_ZSTD },
	};
	const char *name = avro_meta(a, "avro.codec");

	if (!name || str_eq(name, "null"))
		return 0;
	for (size_t i = 0; i < N_ELEMENTS(known); i++)
		if (str_eq(name, known[i].name)) {
			a->compressed = true;
			a->stream = known[i].stream;
			return 0;
		}
	return error_set(err, ERR_UNSUPPORTED,
			 "Avro: compression '%.40s': expected null, deflate, snappy "
			 "or zstandard",
			 name);
}

static int read_head(struct avro *a, struct error *err)
{
	struct bytes magic = { 0 }, sync = { 0 };
	const char *schema;

	if (take_bytes(&a->file, &magic, MAGIC, err) ||
	    memcmp(magic.data, "Obj\1", MAGIC))
		return error_set(err, ERR_FORMAT, "no Avro file");
	if (read_meta(a, err) || take_bytes(&a->file, &sync, SYNC, err) ||
	    find_codec(a, err))
		return -1;
	a->sync = sync.data;
	schema = avro_meta(a, "avro.schema");
	if (!schema)
		return error_set(err, ERR_FORMAT, "Avro: no schema");
	return avro_schema(&a->type, &a->arena, schema, strlen(schema), err);
}

int avro_open(struct avro **ret, struct bytes file, struct budget *budget,
	      struct error *err)
{
	cleanup_avro struct avro *a = xcalloc(1, sizeof(*a));

	a->budget = budget;
	a->file = (struct input){ file.data, file.data + file.len };
	if (read_head(a, err))
		return -1;
	*ret = STEAL(a);
	return 0;
}

static void drop_values(struct avro *a)
{
	arena_clear(&a->values);
	budget_give(a->budget, a->taken);
	a->taken = 0;
}

void avro_free(struct avro *a)
{
	if (!a)
		return;
	drop_values(a);
	block_free(&a->bytes);
	map_release(&a->meta, NULL);
	arena_clear(&a->arena);
	free(a);
}

const char *avro_meta(const struct avro *a, const char *key)
{
	return map_get(&a->meta, key);
}

static int next_block(struct avro *a, struct error *err)
{
	struct bytes bytes = { 0 }, sync = { 0 };
	size_t len = 0;

	if (read_long(&a->file, &a->records, err) || read_bytes(&a->file, &bytes, err) ||
	    take_bytes(&a->file, &sync, SYNC, err))
		return -1;
	if (a->records < 0 || memcmp(sync.data, a->sync, SYNC))
		return truncated(err);
	if (a->compressed) {
		if (codec_expand(&a->bytes, &len, a->stream, bytes, a->budget, err))
			return error_wrap(err, "Avro");
		bytes = (struct bytes){ a->bytes.data, len };
	}
	/* records take no bytes only if empty, and Iceberg has none */
	if ((uint64_t)a->records > bytes.len)
		return truncated(err);
	a->block = (struct input){ bytes.data, bytes.data + bytes.len };
	return 0;
}

int avro_next(struct avro *a, const struct avro_value **ret, struct error *err)
{
	struct avro_value *v;

	drop_values(a);
	*ret = NULL;
	while (!a->records) {
		if (a->block.p != a->block.end)
			return error_set(err, ERR_FORMAT,
					 "Avro: bytes that belong to no record");
		if (a->file.p == a->file.end)
			return 0;
		if (next_block(a, err))
			return -1;
	}
	a->records--;
	a->depth = 0;
	if (alloc_values(a, &v, 1, err) || read_value(a, a->type, v, err))
		return -1;
	*ret = v;
	return 0;
}

const struct avro_value *avro_get(const struct avro_value *v, int32_t id)
{
	if (!v || v->type->kind != AVRO_RECORD)
		return NULL;
	for (size_t i = 0; i < v->n; i++)
		if (v->type->members[i].id == id)
			return v->values[i].type->kind == AVRO_NULL ? NULL
								    : &v->values[i];
	return NULL;
}
