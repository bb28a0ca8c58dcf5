/* Reads and writes the journal of a file's ranges; see journal.h. */
#include "store/journal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/xmalloc.h"
#include "crypto/crc.h"

/* header: magic 8, size 8, id 32, nothing 12, crc 4; record: from 8, length 8, crc 4, own crc 4 */
static const char magic[8] = "kftjrn1\n";

static void put(unsigned char *p, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (unsigned char)(v >> (8 * i));
}

static uint64_t get(const unsigned char *p, int bytes)
{
	uint64_t v = 0;

	for (int i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

void journal_header(unsigned char ret[JOURNAL_HEADER_SIZE],
		    const unsigned char id[JOURNAL_ID_SIZE], int64_t size)
{
	memset(ret, 0, JOURNAL_HEADER_SIZE);
	memcpy(ret, magic, sizeof(magic));
	put(ret + 8, (uint64_t)size, 8);
	memcpy(ret + 16, id, JOURNAL_ID_SIZE);
	put(ret + 60, crc32c(0, ret, 60), 4);
}

void journal_record(unsigned char ret[JOURNAL_RECORD_SIZE], const struct range *r)
{
	put(ret, (uint64_t)r->from, 8);
	put(ret + 8, (uint64_t)(r->to - r->from), 8);
	put(ret + 16, r->crc, 4);
	put(ret + 20, crc32c(0, ret, 20), 4);
}

static bool read_record(struct range *ret, const unsigned char *p, int64_t size)
{
	uint64_t from = get(p, 8), len = get(p + 8, 8);

	if (get(p + 20, 4) != crc32c(0, p, 20))
		return false;
	if (from > (uint64_t)size || !len || len > (uint64_t)size - from)
		return false;
	*ret = (struct range){ .from = (int64_t)from,
			       .to = (int64_t)(from + len),
			       .crc = (uint32_t)get(p + 16, 4) };
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

size_t journal_parse(const void *data, size_t len,
		     const unsigned char id[JOURNAL_ID_SIZE], int64_t size,
		     struct range **ret)
{
	unsigned char header[JOURNAL_HEADER_SIZE];
	const unsigned char *p = data;
	struct range *list;
	size_t n = 0, kept = 0;

	*ret = NULL;
	if (size < 0 || len < JOURNAL_HEADER_SIZE + JOURNAL_RECORD_SIZE)
		return 0;
	journal_header(header, id, size);
	if (memcmp(header, p, sizeof(header)) != 0)
		return 0;
	p += JOURNAL_HEADER_SIZE;
	len -= JOURNAL_HEADER_SIZE;
	list = xreallocarray(NULL, len / JOURNAL_RECORD_SIZE, sizeof(*list));
	for (; len >= JOURNAL_RECORD_SIZE;
	     p += JOURNAL_RECORD_SIZE, len -= JOURNAL_RECORD_SIZE)
		n += read_record(&list[n], p, size);
	qsort(list, n, sizeof(*list), by_place);
	for (size_t i = 0; i < n; i++)
		if (!kept || list[i].from >= list[kept - 1].to)
			list[kept++] = list[i];
	*ret = list;
	return kept;
}
