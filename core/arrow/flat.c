/* Writes and reads FlatBuffers: flat.h. */
#include "arrow/flat.h"

#include <stdlib.h>
#include <string.h>

#include "arrow/bits.h"
#include "base/xmalloc.h"

enum { ALIGN = 8, GROW = 1024 };

void flat_release(struct flat *f)
{
	free(f->data);
	*f = (struct flat){ 0 };
}

static uint8_t *push(struct flat *f, const void *data, size_t n)
{
	uint8_t *to;

	if (n > f->cap - f->used || !f->data) {
		size_t cap = 2 * f->cap + n + GROW;
		uint8_t *larger = xmalloc(cap);

		if (f->used)
			memcpy(larger + cap - f->used, f->data + f->cap - f->used,
			       f->used);
		free(f->data);
		f->data = larger;
		f->cap = cap;
	}
	f->used += n;
	to = f->data + f->cap - f->used;
	if (data && n)
		memcpy(to, data, n);
	else
		memset(to, 0, n);
	return to;
}

/* Pad with zeros so that the position after `extra` more bytes is aligned. */
static void align(struct flat *f, size_t size, size_t extra)
{
	push(f, NULL, -(f->used + extra) & (size - 1));
}

static void push_u32(struct flat *f, uint32_t v)
{
	push(f, &v, sizeof(v));
}

static void push_ref(struct flat *f, uint32_t to)
{
	align(f, 4, 0);
	push_u32(f, (uint32_t)f->used + 4 - to);
}

uint32_t flat_str(struct flat *f, const char *s)
{
	size_t n = strlen(s);

	align(f, 4, n + 1);
	push(f, NULL, 1);
	push(f, s, n);
	push_u32(f, (uint32_t)n);
	return (uint32_t)f->used;
}

uint32_t flat_refs(struct flat *f, const uint32_t *refs, size_t n)
{
	align(f, 4, 0);
	for (size_t i = n; i--;)
		push_ref(f, refs[i]);
	push_u32(f, (uint32_t)n);
	return (uint32_t)f->used;
}

uint32_t flat_structs(struct flat *f, const void *data, size_t size, size_t n)
{
	align(f, ALIGN, size * n);
	push(f, data, size * n);
	push_u32(f, (uint32_t)n);
	return (uint32_t)f->used;
}

void flat_begin(struct flat *f)
{
	memset(f->slot, 0, sizeof(f->slot));
	f->table = f->used;
}

void flat_int(struct flat *f, int slot, size_t size, int64_t value)
{
	align(f, size, 0);
	push(f, &value, size);
	f->slot[slot] = (uint32_t)f->used;
}

void flat_ref(struct flat *f, int slot, uint32_t to)
{
	if (!to)
		return;
	push_ref(f, to);
	f->slot[slot] = (uint32_t)f->used;
}

uint32_t flat_end(struct flat *f)
{
	size_t at, n = FLAT_SLOTS;
	uint32_t back;

	align(f, 4, 0);
	push_u32(f, 0);
	at = f->used;
	while (n && !f->slot[n - 1])
		n--;
	align(f, 2, 0);
	for (size_t i = n; i--;) {
		uint16_t v = f->slot[i] ? (uint16_t)(at - f->slot[i]) : 0;

		push(f, &v, sizeof(v));
	}
	push(f, &(uint16_t){ (uint16_t)(at - f->table) }, 2);
	push(f, &(uint16_t){ (uint16_t)(4 + 2 * n) }, 2);
	back = (uint32_t)(f->used - at);
	memcpy(f->data + f->cap - at, &back, sizeof(back));
	return (uint32_t)at;
}

void flat_finish(struct flat *f, uint32_t root, struct buf *out)
{
	align(f, ALIGN, 4);
	push_ref(f, root);
	buf_add(out, f->data + f->cap - f->used, f->used);
}

/* ---- reading ----------------------------------------------------------------------- */

static int damaged(struct error *err)
{
	return error_set(err, ERR_FORMAT, "Arrow IPC: damaged metadata");
}

/* Are `size` bytes at `at` within the message? */
static bool is_within(const struct flat_table *t, uint64_t at, uint64_t size)
{
	return at <= t->len && size <= t->len - at;
}

static uint16_t load_u16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Follows the offset at `at`, to something of at least `size` bytes. */
static int follow(const struct flat_table *t, size_t at, size_t size, size_t *ret,
		  struct error *err)
{
	uint64_t to;

	if (!is_within(t, at, 4))
		return damaged(err);
	to = (uint64_t)at + bits_load_u32(t->data + at);
	if (!is_within(t, to, size))
		return damaged(err);
	*ret = (size_t)to;
	return 0;
}

int flat_open(struct flat_table *ret, const void *data, size_t len, struct error *err)
{
	struct flat_table t = { data, len, 0 };

	if (follow(&t, 0, 4, &t.at, err))
		return -1;
	*ret = t;
	return 0;
}

/* The position of a field; 0: absent. */
static int find(const struct flat_table *t, int slot, size_t *ret, struct error *err)
{
	int64_t vtable;
	uint16_t size, offset;

	*ret = 0;
	if (!t->data)
		return 0;
	vtable = (int64_t)t->at - (int32_t)bits_load_u32(t->data + t->at);
	if (vtable < 0 || !is_within(t, (uint64_t)vtable, 4))
		return damaged(err);
	size = load_u16(t->data + vtable);
	if (!is_within(t, (uint64_t)vtable, size))
		return damaged(err);
	if (6 + 2 * slot > size)
		return 0;
	offset = load_u16(t->data + vtable + 4 + 2 * slot);
	if (offset)
		*ret = t->at + offset;
	return 0;
}

int flat_get_int(const struct flat_table *t, int slot, size_t size, int64_t absent,
		 int64_t *ret, struct error *err)
{
	unsigned unused = (unsigned)(8 - size) * 8;
	uint64_t v = 0;
	size_t at;

	if (find(t, slot, &at, err))
		return -1;
	*ret = absent;
	if (!at)
		return 0;
	if (!is_within(t, at, size))
		return damaged(err);
	memcpy(&v, t->data + at, size);
	*ret = (int64_t)(v << unused) >> unused;
	return 0;
}

int flat_get_table(const struct flat_table *t, int slot, struct flat_table *ret,
		   struct error *err)
{
	struct flat_table to = *t;
	size_t at;

	if (find(t, slot, &at, err))
		return -1;
	*ret = (struct flat_table){ 0 };
	if (!at)
		return 0;
	if (follow(t, at, 4, &to.at, err))
		return -1;
	*ret = to;
	return 0;
}

int flat_get_vector(const struct flat_table *t, int slot, size_t size,
		    struct flat_vector *ret, struct error *err)
{
	size_t at;
	uint64_t n;

	if (find(t, slot, &at, err))
		return -1;
	*ret = (struct flat_vector){ 0 };
	if (!at)
		return 0;
	if (follow(t, at, 4, &at, err))
		return -1;
	n = bits_load_u32(t->data + at);
	if (!is_within(t, at + 4, n * size))
		return damaged(err);
	*ret = (struct flat_vector){ t->data + at + 4, (size_t)n };
	return 0;
}

int flat_element(const struct flat_table *t, const struct flat_vector *v, size_t i,
		 struct flat_table *ret, struct error *err)
{
	struct flat_table to = *t;

	if (follow(t, (size_t)(v->data - t->data) + 4 * i, 4, &to.at, err))
		return -1;
	*ret = to;
	return 0;
}
