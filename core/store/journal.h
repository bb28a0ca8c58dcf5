/*
 * journal.h - which ranges of a file have been written: what a restart need not fetch.
 *
 * A header that says which contents of which file it is about, then a record for each
 * range, appended as it is finished: offset, length, CRC-32C of its bytes. Numbers are
 * little-endian. It is read as the work of a stranger: a record that is cut off, has a
 * wrong check sum, lies outside of the file or overlaps another is passed over. A power
 * cut may have kept the record and lost the bytes: where no digest of the whole file will
 * tell, they are held against their CRC before they count; elsewhere that is 0.
 */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { JOURNAL_ID_SIZE = 32, JOURNAL_HEADER_SIZE = 64, JOURNAL_RECORD_SIZE = 24 };
#define JOURNAL_MAX ((size_t)16 * 1024 * 1024) /* bytes that are read back */

struct range {
	int64_t from, to; /* `to` is behind it */
	uint32_t crc;
};

void journal_header(unsigned char ret[JOURNAL_HEADER_SIZE],
		    const unsigned char id[JOURNAL_ID_SIZE], int64_t size);
void journal_record(unsigned char ret[JOURNAL_RECORD_SIZE], const struct range *r);

/*
 * The ranges, ascending, none overlapping; the caller's (free). None when it is about
 * something else. data is of any length.
 */
size_t journal_parse(const void *data, size_t len,
		     const unsigned char id[JOURNAL_ID_SIZE], int64_t size,
		     struct range **ret);

#endif
