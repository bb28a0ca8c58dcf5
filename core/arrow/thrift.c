/* Reads Thrift's compact protocol into structs: thrift.h. */
#include "arrow/thrift.h"

enum { MAX_DEPTH = 32, MAX_LIST = 1 << 24 };

enum wire {
	W_STOP,
	W_TRUE,
	W_FALSE,
	W_BYTE,
	W_I16,
	W_I32,
	W_I64,
	W_DOUBLE,
	W_BINARY,
	W_LIST,
	W_SET,
	W_MAP,
	W_STRUCT,
	W_UUID,
};

static void fail(struct thrift *t, const char *why)
{
	if (!t->bad)
		error_set(&t->why, ERR_FORMAT, "%s", why);
	t->bad = true;
	t->p = t->end;
}

static unsigned byte(struct thrift *t)
{
	if (t->p == t->end) {
		fail(t, "truncated metadata");
		return 0;
	}
	return *t->p++;
}

static uint64_t varint(struct thrift *t)
{
	uint64_t v = 0;

	for (int shift = 0; shift < 64; shift += 7) {
		unsigned b = byte(t);

		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	fail(t, "invalid integer in the metadata");
	return 0;
}

static int64_t zigzag(struct thrift *t)
{
	uint64_t v = varint(t);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static struct thrift_bytes bytes(struct thrift *t)
{
	uint64_t len = varint(t);
	struct thrift_bytes b = { t->p, (size_t)len };

	if (len > (size_t)(t->end - t->p)) {
		fail(t, "truncated string in the metadata");
		return (struct thrift_bytes){ t->end, 0 };
	}
	t->p += len;
	return b;
}

static void advance(struct thrift *t, size_t n)
{
	if (n > (size_t)(t->end - t->p))
		fail(t, "truncated metadata");
	else
		t->p += n;
}

/* The next field's id and type; false at the end of the struct. */
static bool next_field(struct thrift *t, int *id, enum wire *type)
{
	unsigned b = byte(t);

	*type = b & 15;
	if (t->bad || *type == W_STOP)
		return false;
	if (b >> 4) {
		*id += (int)(b >> 4);
		return true;
	}
	*id = (int16_t)zigzag(t);
	return !t->bad;
}

/* Every element takes at least a byte: refuse a length beyond the input. */
static size_t list_header(struct thrift *t, enum wire *type)
{
	unsigned b = byte(t);
	uint64_t n = b >> 4;

	if (n == 15)
		n = varint(t);
	*type = b & 15;
	if (n > (size_t)(t->end - t->p) || n > MAX_LIST) {
		fail(t, "a list in the metadata is longer than the metadata");
		return 0;
	}
	return (size_t)n;
}

static bool enter(struct thrift *t)
{
	if (++t->depth > MAX_DEPTH)
		fail(t, "the metadata is nested too deeply");
	return !t->bad;
}

static void skip(struct thrift *t, enum wire type);

/* In a list, a bool is a byte; as a field, it is in the type. */
static void skip_element(struct thrift *t, enum wire type)
{
	if (type == W_TRUE || type == W_FALSE)
		byte(t);
	else
		skip(t, type);
}

static void skip_list(struct thrift *t)
{
	enum wire type;
	size_t n = list_header(t, &type);

	while (n-- && !t->bad)
		skip_element(t, type);
}

static void skip_map(struct thrift *t)
{
	uint64_t n = varint(t);
	unsigned types = n ? byte(t) : 0;

	if (n > (size_t)(t->end - t->p))
		fail(t, "a map in the metadata is longer than the metadata");
	while (!t->bad && n--) {
		skip_element(t, types >> 4);
		skip_element(t, types & 15);
	}
}

static void skip_struct(struct thrift *t)
{
	enum wire type;
	int id = 0;

	while (next_field(t, &id, &type))
		skip(t, type);
}

static void skip(struct thrift *t, enum wire type)
{
	static const uint8_t fixed[] = { [W_BYTE] = 1, [W_DOUBLE] = 8, [W_UUID] = 16 };

	if (!enter(t))
		return;
	switch (type) {
	case W_TRUE:
	case W_FALSE:
		break;
	case W_BYTE:
	case W_DOUBLE:
	case W_UUID:
		advance(t, fixed[type]);
		break;
	case W_I16:
	case W_I32:
	case W_I64:
		varint(t);
		break;
	case W_BINARY:
		bytes(t);
		break;
	case W_LIST:
	case W_SET:
		skip_list(t);
		break;
	case W_MAP:
		skip_map(t);
		break;
	case W_STRUCT:
		skip_struct(t);
		break;
	default:
		fail(t, "unknown type in the metadata");
	}
	t->depth--;
}

static int64_t integer(struct thrift *t, enum wire type)
{
	switch (type) {
	case W_BYTE:
		return (int8_t)byte(t);
	case W_I16:
	case W_I32:
	case W_I64:
		return zigzag(t);
	default:
		fail(t, "a number in the metadata has another type");
		return 0;
	}
}

static void read_i32(struct thrift *t, enum wire type, int32_t *to)
{
	int64_t v = integer(t, type);

	if (v < INT32_MIN || v > INT32_MAX)
		fail(t, "a number in the metadata is out of range");
	*to = (int32_t)v;
}

static void expect(struct thrift *t, enum wire type, enum wire wanted)
{
	if (type != wanted)
		fail(t, "a member of the metadata has another type");
}

/* Read a list of numbers; booleans are a byte each. */
static int64_t element(struct thrift *t, enum wire type)
{
	return type == W_TRUE || type == W_FALSE ? byte(t) == W_TRUE : integer(t, type);
}

static void read_list(struct thrift *t, const struct thrift_member *m,
		      struct thrift_list *to)
{
	bool strings = m->kind == THRIFT_STRINGS, numbers = m->kind == THRIFT_NUMBERS;
	size_t size = strings   ? sizeof(struct thrift_bytes)
		      : numbers ? sizeof(int64_t)
				: m->size;
	enum wire type;
	size_t n = list_header(t, &type);

	if (n && !numbers)
		expect(t, type, strings ? W_BINARY : W_STRUCT);
	if (t->bad)
		return;
	if (budget_alloc(&to->at, t->budget, t->arena, n, size, &t->why)) {
		t->bad = true;
		t->p = t->end;
		return;
	}
	for (to->n = 0; to->n < n && !t->bad; to->n++) {
		void *at = (char *)to->at + to->n * size;

		if (strings) {
			*(struct thrift_bytes *)at = bytes(t);
		} else if (numbers) {
			*(int64_t *)at = element(t, type);
		} else {
			if (m->initial)
				memcpy(at, m->initial, m->size);
			thrift_read(t, m->of, at);
		}
	}
}

static void read_member(struct thrift *t, const struct thrift_member *m, enum wire type,
			void *at)
{
	switch (m->kind) {
	case THRIFT_BOOL:
		*(bool *)at = type == W_TRUE;
		if (type != W_FALSE)
			expect(t, type, W_TRUE);
		break;
	case THRIFT_I32:
		read_i32(t, type, at);
		break;
	case THRIFT_I64:
		*(int64_t *)at = integer(t, type);
		break;
	case THRIFT_BYTES:
		expect(t, type, W_BINARY);
		*(struct thrift_bytes *)at = bytes(t);
		break;
	case THRIFT_STRUCT:
		expect(t, type, W_STRUCT);
		thrift_read(t, m->of, at);
		break;
	case THRIFT_LIST:
	case THRIFT_STRINGS:
	case THRIFT_NUMBERS:
		expect(t, type, W_LIST);
		read_list(t, m, at);
		break;
	case THRIFT_PRESENT:
		*(bool *)at = true;
		skip(t, type);
		break;
	}
}

static const struct thrift_member *find(const struct thrift_table *table, int id)
{
	for (const struct thrift_member *m = table->members; m && m->id; m++)
		if (m->id == id)
			return m;
	return NULL;
}

void thrift_read(struct thrift *t, const struct thrift_table *table, void *to)
{
	enum wire type;
	int id = 0;

	if (!enter(t))
		return;
	while (next_field(t, &id, &type)) {
		const struct thrift_member *m = find(table, id);

		if (table->is_union)
			*(int *)((char *)to + table->which) = id;
		if (m)
			read_member(t, m, type, (char *)to + m->offset);
		else
			skip(t, type);
	}
	t->depth--;
}

int thrift_check(const struct thrift *t, struct error *err)
{
	if (!t->bad)
		return 0;
	*err = t->why;
	return -1;
}
