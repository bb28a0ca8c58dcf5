/*
 * journal.h - records the written ranges of a file, for a restart.
 *
 * A header identifies the file and its contents; then a record is appended for each
 * finished range: offset, length, CRC-32C of its bytes. Numbers are little-endian. It is
 * untrusted when it is read back: a record that is truncated, has a wrong checksum, lies
 * outside the file or overlaps another is skipped. A power failure may keep a record and
 * lose its bytes: unless a digest of the whole file will tell, the bytes are compared
 * with the CRC; otherwise it is 0.
 */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { JOURNAL_ID_SIZE = 32, JOURNAL_HEADER_SIZE = 64, JOURNAL_RECORD_SIZE = 24 };
#define JOURNAL_MAX ((size_t)16 * 1024 * 1024) /* bytes that are read back */

struct range {
	int64_t from, to; /* `to` is exclusive */
	uint32_t crc;
};

void journal_header(unsigned char ret[JOURNAL_HEADER_SIZE],
		    const unsigned char id[JOURNAL_ID_SIZE], int64_t size);
void journal_record(unsigned char ret[JOURNAL_RECORD_SIZE], const struct range *r);

/*
 * The ranges, ascending and not overlapping; free() them. None if the journal is of
 * another file or version. Safe for any data.
 */
size_t journal_parse(const void *data, size_t len,
		     const unsigned char id[JOURNAL_ID_SIZE], int64_t size,
		     struct range **ret);

#endif
