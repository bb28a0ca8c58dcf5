/* index.c - reads and writes upstream's index table (cache/index.h). */
#include "cache/index.h"

#include <string.h>

#include "arrow/bits.h"
#include "arrow/flat.h"
#include "arrow/ipc_format.h"
#include "base/cleanup.h"
#include "base/protobuf.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/flight.h"
#include "net/grpc.h"

enum { N_NUMBERS = 3, START = 1, INLINE = 12, VIEW = 16 };
/*
 * The order of buffers: validity and values of each number, validity and offsets of the
 * list, ...
 */
enum {
	AT_OFFSETS = 2 * N_NUMBERS + 1,
	AT_VIEWS = AT_OFFSETS + 2,
	AT_DATA,
};

static const char *const columns[] = { "worker_ids", "row_start_indexes",
				       "row_end_indexes", "file_paths", NULL };

/* A string of at most INLINE bytes is in `text`; a longer one's first 4 are. */
struct view {
	uint32_t len;
	union {
		char text[INLINE];
		struct {
			char prefix[4];
			uint32_t buffer, offset;
		};
	};
};

/* ---- reading ----------------------------------------------------------------------- */

static int not_an_index(struct error *err)
{
	return error_set(err, ERR_FORMAT,
			 "not upstream's index table: want worker_ids, "
			 "row_start_indexes, row_end_indexes (UInt64) and "
			 "file_paths (List<Utf8View>)");
}

static int check_field(const struct flat_table *f, const char *name, int64_t type,
		       struct error *err)
{
	struct flat_vector text;
	int64_t has;

	if (flat_get_int(f, 2, 1, 0, &has, err) || flat_get_vector(f, 0, 1, &text, err))
		return -1;
	if (has != type ||
	    (name && (text.n != strlen(name) || memcmp(text.data, name, text.n) != 0)))
		return not_an_index(err);
	return 0;
}

static int check_schema(const struct flat_table *schema, struct error *err)
{
	struct flat_table field, child;
	struct flat_vector fields, children;

	if (flat_get_vector(schema, 1, 4, &fields, err))
		return -1;
	if (fields.n != N_NUMBERS + 1)
		return not_an_index(err);
	for (size_t i = 0; i <= N_NUMBERS; i++)
		if (flat_element(schema, &fields, i, &field, err) ||
		    check_field(&field, columns[i], i < N_NUMBERS ? TYPE_INT : TYPE_LIST,
				err))
			return -1;
	if (flat_get_vector(&field, 5, 4, &children, err))
		return -1;
	if (children.n != 1 || flat_element(&field, &children, 0, &child, err))
		return not_an_index(err);
	return check_field(&child, NULL, TYPE_UTF8_VIEW, err);
}

struct buffers {
	struct flat_vector list;
	struct bytes body;
	size_t left; /* bytes of the body that strings may still have */
};

/* Get a buffer of at least `min` bytes. */
static int buffer_at(struct bytes *ret, const struct buffers *from, size_t i,
		     uint64_t min, struct error *err)
{
	struct ipc_buffer b;

	if (i >= from->list.n)
		return not_an_index(err);
	memcpy(&b, from->list.data + i * sizeof(b), sizeof(b));
	if (b.offset < 0 || b.len < 0 || (uint64_t)b.offset > from->body.len ||
	    (uint64_t)b.len > from->body.len - (uint64_t)b.offset ||
	    (uint64_t)b.len < min)
		return error_set(err, ERR_FORMAT, "Arrow IPC: damaged record batch");
	*ret = (struct bytes){ b.len ? from->body.data + b.offset : NULL, (size_t)b.len };
	return 0;
}

/* Views may overlap: limit the sum of their lengths to the size of the body. */
static int take_string(char **ret, const uint8_t *view, struct buffers *from,
		       struct arena *arena, struct error *err)
{
	struct bytes data;
	struct view v;

	memcpy(&v, view, VIEW);
	if (!v.len || v.len > from->left)
		return error_set(err, ERR_FORMAT,
				 v.len ? "file_paths: more text than the record batch has"
				       : "file_paths: an empty path");
	from->left -= v.len;
	if (v.len <= INLINE) {
		*ret = str_slice(arena, v.text, v.len);
		return 0;
	}
	if (buffer_at(&data, from, AT_DATA + (size_t)v.buffer, (uint64_t)v.offset + v.len,
		      err))
		return -1;
	*ret = str_slice(arena, (const char *)data.data + v.offset, v.len);
	return 0;
}

static int take_files(struct index *ret, int64_t rows, struct buffers *from,
		      struct arena *arena, struct error *err)
{
	struct bytes offsets, views;
	uint32_t first, end;

	if (buffer_at(&offsets, from, AT_OFFSETS, 4 * ((uint64_t)rows + 1), err))
		return -1;
	first = bits_load_u32(offsets.data);
	end = bits_load_u32(offsets.data + 4 * rows);
	if (first > end)
		return not_an_index(err);
	if (buffer_at(&views, from, AT_VIEWS, (uint64_t)end * VIEW, err))
		return -1;
	ret->files = arena_alloc(arena, ((size_t)(end - first) + 1) * sizeof(char *));
	for (uint32_t i = first; i < end; i++)
		if (take_string(&ret->files[ret->n_files++],
				views.data + (size_t)i * VIEW, from, arena, err))
			return -1;
	return 0;
}

static int take_batch(struct index *ret, const struct flat_table *batch,
		      struct bytes body, struct arena *arena, struct error *err)
{
	struct buffers from = { .body = body, .left = body.len };
	struct flat_table compression;
	struct bytes starts;
	int64_t rows;

	if (flat_get_int(batch, 0, 8, 0, &rows, err) ||
	    flat_get_vector(batch, 2, sizeof(struct ipc_buffer), &from.list, err) ||
	    flat_get_table(batch, 3, &compression, err))
		return -1;
	if (rows < 1 || rows > INT32_MAX || compression.data)
		return not_an_index(err);
	if (buffer_at(&starts, &from, 2 * START + 1, 8 * (uint64_t)rows, err))
		return -1;
	memcpy(&ret->first, starts.data, sizeof(ret->first));
	if (ret->first < 0)
		return not_an_index(err);
	return take_files(ret, rows, &from, arena, err);
}

int index_read(struct index *ret, struct iovec message, bool *ret_done,
	       struct arena *arena, struct error *err)
{
	struct flat_table m, header;
	struct bytes metadata, body;
	int64_t type;

	*ret_done = false;
	if (flight_data(&metadata, &body, message, err) ||
	    flat_open(&m, metadata.data, metadata.len, err) ||
	    flat_get_int(&m, 1, 1, 0, &type, err) || flat_get_table(&m, 2, &header, err))
		return -1;
	if (type == HEADER_SCHEMA)
		return check_schema(&header, err);
	if (type != HEADER_BATCH)
		return not_an_index(err);
	*ret_done = true;
	return take_batch(ret, &header, body, arena, err);
}

/* ---- writing ----------------------------------------------------------------------- */

static uint32_t put_field(struct flat *f, const char *name, int tag, uint32_t child)
{
	uint32_t text = flat_str(f, name), children = child ? flat_refs(f, &child, 1) : 0;
	uint32_t type;

	flat_begin(f);
	if (tag == TYPE_INT)
		flat_int(f, 0, 4, 64);
	type = flat_end(f);
	flat_begin(f);
	flat_ref(f, 0, text);
	flat_int(f, 1, 1, tag == TYPE_UTF8_VIEW);
	flat_int(f, 2, 1, tag);
	flat_ref(f, 3, type);
	flat_ref(f, 5, children);
	return flat_end(f);
}

static void write_schema(struct buf *out)
{
	cleanup_flat struct flat f = { 0 };
	uint32_t refs[N_NUMBERS + 1], list, schema;

	for (size_t i = 0; i < N_NUMBERS; i++)
		refs[i] = put_field(&f, columns[i], TYPE_INT, 0);
	refs[N_NUMBERS] = put_field(&f, columns[N_NUMBERS], TYPE_LIST,
				    put_field(&f, "item", TYPE_UTF8_VIEW, 0));
	list = flat_refs(&f, refs, N_NUMBERS + 1);
	flat_begin(&f);
	flat_ref(&f, 1, list);
	schema = flat_end(&f);
	flat_finish(&f, ipc_message(&f, HEADER_SCHEMA, schema, 0), out);
}

static void add_buffer(struct buf *body, struct ipc_buffer *to, const void *data,
		       size_t len)
{
	static const char zeros[IPC_ALIGN];

	*to = (struct ipc_buffer){ (int64_t)body->len, (int64_t)len };
	buf_add(body, data, len);
	buf_add(body, zeros, -body->len % IPC_ALIGN);
}

static void write_views(struct buf *views, struct buf *text, char *const *files, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(files[i]);
		struct view v = { .len = (uint32_t)len };

		if (len <= INLINE) {
			memcpy(v.text, files[i], len);
		} else {
			memcpy(v.prefix, files[i], sizeof(v.prefix));
			v.offset = (uint32_t)text->len;
			buf_add(text, files[i], len);
		}
		buf_add(views, &v, sizeof(v));
	}
}

static void write_body(struct buf *body, struct ipc_buffer *at, uint64_t id,
		       struct rows rows, char *const *files, size_t n)
{
	const uint64_t numbers[N_NUMBERS] = { id, (uint64_t)rows.first,
					      (uint64_t)rows.end - 1 };
	const uint32_t offsets[] = { 0, (uint32_t)n };
	cleanup_buf struct buf views = { .max = SIZE_MAX / 2 };
	cleanup_buf struct buf text = { .max = SIZE_MAX / 2 };

	write_views(&views, &text, files, n);
	for (size_t i = 0; i < N_NUMBERS; i++)
		add_buffer(body, &at[2 * i + 1], &numbers[i], sizeof(numbers[i]));
	add_buffer(body, &at[AT_OFFSETS], offsets, sizeof(offsets));
	add_buffer(body, &at[AT_VIEWS], views.data, views.len);
	add_buffer(body, &at[AT_DATA], text.data, text.len);
}

/* Without nulls the validity buffer is empty. */
static void write_batch(struct buf *out, const struct ipc_buffer *at, size_t n,
			uint64_t body)
{
	struct ipc_node nodes[N_NUMBERS + 2];
	static const int64_t variadic = 1;
	cleanup_flat struct flat f = { 0 };
	uint32_t buffers, list, counts, batch;

	for (size_t i = 0; i < N_NUMBERS + 1; i++)
		nodes[i] = (struct ipc_node){ 1, 0 };
	nodes[N_NUMBERS + 1] = (struct ipc_node){ (int64_t)n, 0 };
	buffers = flat_structs(&f, at, sizeof(*at), AT_DATA + 1);
	list = flat_structs(&f, nodes, sizeof(*nodes), N_NUMBERS + 2);
	counts = flat_structs(&f, &variadic, sizeof(variadic), 1);
	flat_begin(&f);
	flat_int(&f, 0, 8, 1);
	flat_ref(&f, 1, list);
	flat_ref(&f, 2, buffers);
	flat_ref(&f, 4, counts);
	batch = flat_end(&f);
	flat_finish(&f, ipc_message(&f, HEADER_BATCH, batch, body), out);
}

/* DoPut's first message needs a descriptor: an empty path. */
static void write_message(struct buf *out, const struct buf *header,
			  const struct buf *body)
{
	static const uint8_t path[] = { 1 << 3, 1 };
	cleanup_buf struct buf message = { .max = SIZE_MAX / 2 };
	uint8_t prefix[GRPC_PREFIX];

	if (!out->len)
		pb_put_bytes(&message, DATA_DESCRIPTOR, path, sizeof(path));
	pb_put_bytes(&message, DATA_HEADER, header->data, header->len);
	if (body->len)
		pb_put_bytes(&message, DATA_BODY, body->data, body->len);
	grpc_prefix(prefix, (uint32_t)message.len);
	buf_add(out, prefix, sizeof(prefix));
	buf_add(out, message.data, message.len);
}

void index_write(struct buf *out, uint64_t id, struct rows rows, char *const *files,
		 size_t n)
{
	cleanup_buf struct buf schema = { .max = SIZE_MAX / 2 };
	cleanup_buf struct buf batch = { .max = SIZE_MAX / 2 };
	cleanup_buf struct buf body = { .max = SIZE_MAX / 2 };
	const struct buf none = { 0 };
	struct ipc_buffer at[AT_DATA + 1] = { 0 };

	write_schema(&schema);
	write_message(out, &schema, &none);
	write_body(&body, at, id, rows, files, n);
	write_batch(&batch, at, n, body.len);
	write_message(out, &batch, &body);
}
