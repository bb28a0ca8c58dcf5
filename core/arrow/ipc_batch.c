/* Writes rows as Arrow's messages and views them: ipc.h. */
#include "arrow/ipc.h"
#include "arrow/ipc_format.h"

#include <stdlib.h>
#include <string.h>

#include "arrow/bits.h"
#include "base/cleanup.h"
#include "base/xmalloc.h"

/* ---- writing ----------------------------------------------------------------------- */

static void add_part(struct ipc_plan *p, struct ipc_part part)
{
	if (p->n_parts == p->cap_parts) {
		p->cap_parts = 2 * p->cap_parts + 16;
		p->parts = xreallocarray(p->parts, p->cap_parts, sizeof(*p->parts));
	}
	part.at = p->body;
	p->body += (part.len + IPC_ALIGN - 1) / IPC_ALIGN * IPC_ALIGN;
	p->parts[p->n_parts++] = part;
}

static void add_node(struct ipc_plan *p, int64_t n, int64_t n_null)
{
	if (p->n_nodes == p->cap_nodes) {
		p->cap_nodes = 2 * p->cap_nodes + 16;
		p->nodes = xreallocarray(p->nodes, p->cap_nodes, sizeof(*p->nodes));
	}
	p->nodes[p->n_nodes++] = (struct ipc_node){ n, n_null };
}

static void add_bits(struct ipc_plan *p, const uint8_t *from, int64_t first, int64_t n)
{
	add_part(p, (struct ipc_part){ BITS, from, first, n, 0, ((uint64_t)n + 7) / 8 });
}

static void add_bytes(struct ipc_plan *p, const uint8_t *from, uint64_t len)
{
	add_part(p, (struct ipc_part){ COPY, from, 0, 0, 0, len });
}

/* No values: no memory either. */
static const uint8_t *at(const uint8_t *values, int64_t offset)
{
	return values ? values + offset : NULL;
}

static void add_offsets(struct ipc_plan *p, const struct array *a, int64_t first,
			int64_t n, bool wide)
{
	add_part(p, (struct ipc_part){ wide ? WIDE_OFFSETS : OFFSETS,
				       n ? a->offsets.data : NULL, first, n, 0,
				       ((uint64_t)n + 1) * (wide ? 8 : 4) });
}

struct span {
	int64_t first, n;
};

/* The range of elements of rows [first, first + n). */
static struct span elements(const struct array *a, int64_t first, int64_t n)
{
	const uint8_t *offsets = a->offsets.data;
	int64_t from, to;

	if (!n)
		return (struct span){ 0 };
	from = (int32_t)bits_load_u32(offsets + 4 * first);
	to = (int32_t)bits_load_u32(offsets + 4 * (first + n));
	return (struct span){ from, to - from };
}

static void add_validity(struct ipc_plan *p, const struct array *a, int64_t first,
			 int64_t n)
{
	const uint8_t *bits = a->validity.data;
	int64_t n_null =
		bits ? n - (int64_t)bits_count(bits, (uint64_t)first, (uint64_t)n) : 0;

	add_node(p, n, n_null);
	if (n_null)
		add_bits(p, bits, first, n);
	else
		add_bytes(p, NULL, 0);
}

static void add_array(struct ipc_plan *p, const struct array *a, int64_t first, int64_t n,
		      struct ipc_form form);

static void add_nested(struct ipc_plan *p, const struct array *a, int64_t first,
		       int64_t n, struct ipc_form form)
{
	struct span in = { first, n };

	if (a->field->kind != ARROW_STRUCT) {
		add_offsets(p, a, first, n, false);
		in = elements(a, first, n);
	}
	for (size_t i = 0; i < a->field->n_children; i++)
		add_array(p, &a->children[i], in.first, in.n, form);
}

static void add_array(struct ipc_plan *p, const struct array *a, int64_t first, int64_t n,
		      struct ipc_form form)
{
	const struct field *f = a->field;
	struct span in;

	if (f->kind == ARROW_NULL) {
		add_node(p, n, n);
		return;
	}
	add_validity(p, a, first, n);
	if (field_has_children(f)) {
		add_nested(p, a, first, n, form);
	} else if (f->kind == ARROW_BOOL) {
		add_bits(p, a->values.data, first, n);
	} else if (f->kind == ARROW_STRING || f->kind == ARROW_BINARY) {
		in = elements(a, first, n);
		add_offsets(p, a, first, n, form.iceberg && f->kind == ARROW_BINARY);
		add_bytes(p, at(a->values.data, in.first), (uint64_t)in.n);
	} else {
		add_bytes(p, at(a->values.data, first * f->width),
			  (uint64_t)n * f->width);
	}
}

/* 0: the body is not compressed. */
static uint32_t compression(struct flat *f, enum ipc_codec codec)
{
	if (codec == IPC_PLAIN)
		return 0;
	flat_begin(f);
	flat_int(f, 0, 1, codec == IPC_ZSTD ? BODY_ZSTD : BODY_LZ4_FRAME);
	return flat_end(f);
}

void ipc_plan_metadata(struct ipc_plan *p)
{
	struct ipc_buffer *list = xcalloc(p->n_parts + 1, sizeof(*list));
	cleanup_flat struct flat f = { 0 };
	uint32_t buffers, nodes, packed, batch;

	for (size_t i = 0; i < p->n_parts; i++)
		list[i] = (struct ipc_buffer){ (int64_t)p->parts[i].at,
					       (int64_t)p->parts[i].len };
	buffers = flat_structs(&f, list, sizeof(*list), p->n_parts);
	free(list);
	nodes = flat_structs(&f, p->nodes, sizeof(*p->nodes), p->n_nodes);
	packed = compression(&f, p->codec);
	flat_begin(&f);
	flat_int(&f, 0, 8, p->n);
	flat_ref(&f, 1, nodes);
	flat_ref(&f, 2, buffers);
	flat_ref(&f, 3, packed);
	batch = flat_end(&f);
	buf_clear(&p->metadata);
	p->metadata.max =
		SIZE_MAX / 2; /* as many as the fields need, which are limited */
	flat_finish(&f, ipc_message(&f, HEADER_BATCH, batch, p->body), &p->metadata);
}

void ipc_plan(struct ipc_plan *ret, const struct batch *b, int64_t first, int64_t n,
	      struct ipc_form form)
{
	ret->body = ret->n_parts = ret->n_nodes = 0;
	ret->n = n;
	ret->codec = IPC_PLAIN;
	free(STEAL(ret->packed));
	for (size_t i = 0; i < b->n_columns; i++)
		add_array(ret, &b->columns[i], first, n, form);
	ipc_plan_metadata(ret);
}

static void write_bits(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t n)
{
	unsigned shift = first & 7;
	uint64_t bytes = (n + 7) / 8, last = (shift + n - 1) / 8;

	from += first / 8;
	for (uint64_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)(from[i] >> shift |
				  (i < last ? from[i + 1] << (8 - shift) : 0));
	if (n & 7)
		to[n / 8] &= (uint8_t)((1u << (n & 7)) - 1);
}

/* Copy offsets, shifted so that the first is 0. */
static void write_offsets(const struct ipc_part *part, uint8_t *to)
{
	const uint8_t *from = at(part->from, 4 * part->first);
	uint32_t base = part->from ? bits_load_u32(from) : 0;

	for (int64_t i = 0; i <= part->n; i++) {
		uint32_t v = part->from ? bits_load_u32(from + 4 * i) - base : 0;

		if (part->how == WIDE_OFFSETS)
			memcpy(to + 8 * i, &(uint64_t){ v }, 8);
		else
			memcpy(to + 4 * i, &v, 4);
	}
}

void ipc_body(const struct ipc_plan *p, uint8_t *to)
{
	if (p->packed)
		memcpy(to, p->packed, p->body);
	for (size_t i = 0; i < p->n_parts && !p->packed; i++) {
		const struct ipc_part *part = &p->parts[i];
		uint64_t end = i + 1 < p->n_parts ? p->parts[i + 1].at : p->body;

		if (!part->len)
			continue;
		if (part->how == COPY)
			memcpy(to + part->at, part->from, part->len);
		else if (part->how == BITS)
			write_bits(to + part->at, part->from, (uint64_t)part->first,
				   (uint64_t)part->n);
		else
			write_offsets(part, to + part->at);
		memset(to + part->at + part->len, 0, end - part->at - part->len);
	}
}

void ipc_plan_release(struct ipc_plan *p)
{
	buf_release(&p->metadata);
	free(p->parts);
	free(p->nodes);
	free(p->packed);
	*p = (struct ipc_plan){ 0 };
}

/* ---- reading ----------------------------------------------------------------------- */

struct reader {
	struct flat_vector nodes, buffers;
	size_t node, buffer; /* the next node and buffer to read */
	struct bytes body;
	struct ipc_form form;
};

static int damaged(struct error *err)
{
	return error_set(err, ERR_FORMAT, "Arrow IPC: damaged record batch");
}

static int take_node(struct reader *r, struct ipc_node *ret, struct error *err)
{
	if (r->node == r->nodes.n)
		return damaged(err);
	memcpy(ret, r->nodes.data + r->node++ * sizeof(*ret), sizeof(*ret));
	if (ret->n < 0 || ret->n_null < 0 || ret->n_null > ret->n || ret->n > INT32_MAX)
		return damaged(err);
	return 0;
}

/* The next buffer, of at least `min` bytes; NULL if empty. */
static int take_buffer(struct reader *r, uint64_t min, struct block *ret,
		       struct error *err)
{
	struct ipc_buffer b;

	if (r->buffer == r->buffers.n)
		return damaged(err);
	memcpy(&b, r->buffers.data + r->buffer++ * sizeof(b), sizeof(b));
	if (b.offset < 0 || b.len < 0 || b.offset & 7 ||
	    (uint64_t)b.offset > r->body.len ||
	    (uint64_t)b.len > r->body.len - (uint64_t)b.offset || (uint64_t)b.len < min)
		return damaged(err);
	if (b.len)
		*ret = (struct block){
			.data = (uint8_t *)(uintptr_t)r->body.data + b.offset,
			.cap = (size_t)b.len,
		};
	return 0;
}

/* Narrow 64-bit offsets to 32 bits in memory of our own, marked by a capacity of 0. */
static int narrow(struct array *a, struct error *err)
{
	uint32_t *to = xcalloc((size_t)a->n + 1, sizeof(*to));

	for (int64_t i = 0; i <= a->n; i++) {
		uint64_t v = a->n ? bits_load_u64(a->offsets.data + 8 * i) : 0;

		if (v > INT32_MAX) {
			free(to);
			return damaged(err);
		}
		to[i] = (uint32_t)v;
	}
	a->offsets = (struct block){ .data = (uint8_t *)to };
	return 0;
}

/* Check that offsets ascend from 0 on; the last one is the number of elements. */
static int take_offsets(struct reader *r, struct array *a, bool wide, int64_t *ret,
			struct error *err)
{
	int64_t last = 0;

	if (take_buffer(r, a->n ? ((uint64_t)a->n + 1) * (wide ? 8 : 4) : 0, &a->offsets,
			err) ||
	    (wide && narrow(a, err)))
		return -1;
	for (int64_t i = 0; a->n && i <= a->n; i++) {
		int32_t v = (int32_t)bits_load_u32(a->offsets.data + 4 * i);

		if (v < last)
			return damaged(err);
		last = v;
	}
	*ret = last;
	return 0;
}

static int take_array(struct reader *r, struct array *a, const struct field *f,
		      int64_t min, struct error *err);

static int take_nested(struct reader *r, struct array *a, struct error *err)
{
	int64_t n = a->n;

	a->children = xcalloc(a->field->n_children + 1, sizeof(*a->children));
	if (a->field->kind != ARROW_STRUCT && take_offsets(r, a, false, &n, err))
		return -1;
	for (size_t i = 0; i < a->field->n_children; i++)
		if (take_array(r, &a->children[i], &a->field->children[i], n, err))
			return -1;
	return 0;
}

static int take_strings(struct reader *r, struct array *a, struct error *err)
{
	bool wide = r->form.iceberg && a->field->kind == ARROW_BINARY;
	int64_t len;

	if (take_offsets(r, a, wide, &len, err))
		return -1;
	return take_buffer(r, (uint64_t)len, &a->values, err);
}

static int take_array(struct reader *r, struct array *a, const struct field *f,
		      int64_t min, struct error *err)
{
	struct ipc_node node;
	uint64_t bits;

	a->field = f;
	if (take_node(r, &node, err))
		return -1;
	if (node.n < min)
		return damaged(err);
	a->n = node.n;
	a->n_null = node.n_null;
	if (f->kind == ARROW_NULL)
		return 0;
	bits = ((uint64_t)a->n + 7) / 8;
	if (take_buffer(r, a->n_null ? bits : 0, &a->validity, err))
		return -1;
	if (!a->n_null)
		a->validity = (struct block){ 0 };
	if (field_has_children(f))
		return take_nested(r, a, err);
	if (f->kind == ARROW_STRING || f->kind == ARROW_BINARY)
		return take_strings(r, a, err);
	return take_buffer(r, f->kind == ARROW_BOOL ? bits : (uint64_t)a->n * f->width,
			   &a->values, err);
}

static int open_batch(struct reader *r, struct bytes metadata, int64_t *ret_n,
		      struct error *err)
{
	struct flat_table message, batch, compression;
	int64_t type;

	if (flat_open(&message, metadata.data, metadata.len, err) ||
	    flat_get_int(&message, 1, 1, 0, &type, err) ||
	    flat_get_table(&message, 2, &batch, err) ||
	    flat_get_int(&batch, 0, 8, 0, ret_n, err) ||
	    flat_get_vector(&batch, 1, sizeof(struct ipc_node), &r->nodes, err) ||
	    flat_get_vector(&batch, 2, sizeof(struct ipc_buffer), &r->buffers, err) ||
	    flat_get_table(&batch, 3, &compression, err))
		return -1;
	if (type != HEADER_BATCH || *ret_n < 0)
		return damaged(err);
	if (compression.data)
		return error_set(err, ERR_UNSUPPORTED,
				 "Arrow IPC: compressed bodies are not supported");
	return 0;
}

int ipc_view(struct batch *ret, const struct field *fields, size_t n,
	     struct ipc_message message, struct ipc_form form, struct error *err)
{
	struct reader r = { .body = message.body, .form = form };
	struct batch b = { .n_columns = n };

	if (open_batch(&r, message.metadata, &b.n, err))
		return -1;
	b.columns = xcalloc(n + 1, sizeof(*b.columns));
	for (size_t i = 0; i < n; i++)
		if (take_array(&r, &b.columns[i], &fields[i], b.n, err)) {
			ipc_view_release(&b);
			return -1;
		}
	*ret = b;
	return 0;
}

/* Only narrowed offsets are ours to free: their capacity is 0. */
static void release_array(struct array *a)
{
	for (size_t i = 0; a->children && i < a->field->n_children; i++)
		release_array(&a->children[i]);
	free(a->children);
	if (a->offsets.data && !a->offsets.cap)
		free(a->offsets.data);
}

void ipc_view_release(struct batch *b)
{
	for (size_t i = 0; i < b->n_columns; i++)
		release_array(&b->columns[i]);
	free(b->columns);
	*b = (struct batch){ 0 };
}
