/* ticket.c - encodes and decodes tickets (cache/ticket.h). */
#include "cache/ticket.h"

#include <string.h>

enum { ONE_BYTE = 250, OF_16 = 251, OF_32, OF_64 };
#define MAX_ROW (INT64_MAX - 1)

static size_t put(uint8_t *to, uint64_t v)
{
	size_t size = v <= UINT16_MAX ? 2 : v <= UINT32_MAX ? 4 : 8;

	if (v <= ONE_BYTE) {
		to[0] = (uint8_t)v;
		return 1;
	}
	to[0] = size == 2 ? OF_16 : size == 4 ? OF_32 : OF_64;
	memcpy(to + 1, &v, size);
	return 1 + size;
}

size_t ticket_write(uint8_t to[TICKET_MAX], struct rows rows)
{
	bool none = rows.first >= rows.end;
	size_t n = put(to, none ? 1 : (uint64_t)rows.first);

	return n + put(to + n, none ? 0 : (uint64_t)rows.end - 1);
}

/* Decode a number; returns its size, 0: not a number. */
static size_t take_number(uint64_t *ret, const uint8_t *from, size_t len)
{
	size_t size;

	*ret = 0;
	if (!len || from[0] > OF_64)
		return 0;
	if (from[0] <= ONE_BYTE) {
		*ret = from[0];
		return 1;
	}
	size = (size_t)2 << (from[0] - OF_16);
	if (len - 1 < size)
		return 0;
	memcpy(ret, from + 1, size);
	return 1 + size;
}

void ticket_add(struct buf *out, const struct ticket *t)
{
	uint8_t rows[TICKET_MAX];

	buf_add(out, rows, ticket_write(rows, t->rows));
	if (t->view.iov_len) {
		buf_adds(out, TICKET_VIEW);
		buf_add(out, t->view.iov_base, t->view.iov_len);
	}
	buf_adds(out, TICKET_TABLE);
	buf_add(out, t->table.iov_base, t->table.iov_len);
}

/* The bytes after the numbers: a view, and the name of a table at their end. */
static void read_rest(struct ticket *t, uint8_t *at, size_t len)
{
	const size_t n_view = sizeof(TICKET_VIEW) - 1;
	const size_t n_table = sizeof(TICKET_TABLE) - 1 + TABLE_NAME;

	if (len >= n_table &&
	    !memcmp(at + len - n_table, TICKET_TABLE, n_table - TABLE_NAME)) {
		t->table = (struct iovec){ at + len - TABLE_NAME, TABLE_NAME };
		len -= n_table;
	}
	if (len > n_view && !memcmp(at, TICKET_VIEW, n_view))
		t->view = (struct iovec){ at + n_view, len - n_view };
}

int ticket_read(struct ticket *ret, struct iovec bytes, struct error *err)
{
	uint64_t first, last;
	uint8_t *at = bytes.iov_base;
	size_t n = take_number(&first, at, bytes.iov_len), more = 0;

	if (n)
		more = take_number(&last, at + n, bytes.iov_len - n);
	if (!more)
		return error_set(err, ERR_FORMAT, "Invalid ticket format");
	*ret = (struct ticket){ 0 };
	if (first <= last)
		ret->rows =
			(struct rows){ first < MAX_ROW ? (int64_t)first : MAX_ROW,
				       last < MAX_ROW ? (int64_t)last + 1 : INT64_MAX };
	read_rest(ret, at + n + more, bytes.iov_len - n - more);
	return 0;
}
