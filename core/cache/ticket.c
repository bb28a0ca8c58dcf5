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

int ticket_read(struct rows *ret, const void *data, size_t len, struct error *err)
{
	uint64_t first, last;
	size_t n = take_number(&first, data, len);

	if (!n || !take_number(&last, (const uint8_t *)data + n, len - n))
		return error_set(err, ERR_FORMAT, "Invalid ticket format");
	*ret = (struct rows){ 0 };
	if (first <= last)
		*ret = (struct rows){ first < MAX_ROW ? (int64_t)first : MAX_ROW,
				      last < MAX_ROW ? (int64_t)last + 1 : INT64_MAX };
	return 0;
}

struct iovec ticket_view(const void *data, size_t len)
{
	const size_t n = sizeof(TICKET_VIEW) - 1;
	const uint8_t *at = data;
	uint64_t unused;
	size_t skip = take_number(&unused, at, len);

	skip += take_number(&unused, at + skip, len - skip);
	if (len - skip <= n || memcmp(at + skip, TICKET_VIEW, n) != 0)
		return (struct iovec){ 0 };
	return (struct iovec){ (void *)(uintptr_t)(at + skip + n), len - skip - n };
}
