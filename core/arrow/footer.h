/*
 * footer.h - the footer and page headers of a Parquet file, uninterpreted.
 *
 * Names and numbers are those of parquet.thrift (apache/parquet-format). Values are not
 * checked for consistency: schema.h and parquet.h do that.
 */
#ifndef ARROW_FOOTER_H
#define ARROW_FOOTER_H

#include <stdbool.h>
#include <stdint.h>

#include "arrow/thrift.h"

enum physical {
	PHYS_BOOLEAN,
	PHYS_INT32,
	PHYS_INT64,
	PHYS_INT96,
	PHYS_FLOAT,
	PHYS_DOUBLE,
	PHYS_BYTE_ARRAY,
	PHYS_FIXED,
	PHYS_N,
	PHYS_NONE = -1, /* a group */
};

enum repetition { REQUIRED, OPTIONAL, REPEATED };

enum logical_id { /* of the union LogicalType */
		  LOGICAL_NONE = 0,
		  LOGICAL_STRING = 1,
		  LOGICAL_MAP = 2,
		  LOGICAL_LIST = 3,
		  LOGICAL_ENUM = 4,
		  LOGICAL_DECIMAL = 5,
		  LOGICAL_DATE = 6,
		  LOGICAL_TIME = 7,
		  LOGICAL_TIMESTAMP = 8,
		  LOGICAL_INTEGER = 10,
		  LOGICAL_NULL = 11,
		  LOGICAL_JSON = 12,
		  LOGICAL_BSON = 13,
		  LOGICAL_UUID = 14,
		  LOGICAL_FLOAT16 = 15,
};

enum time_unit { UNIT_NONE, UNIT_MS, UNIT_US, UNIT_NS }; /* of the union TimeUnit */

struct logical {
	int id;
	int32_t scale, precision;
	bool utc;
	int unit;
	int32_t bits;
	bool is_signed;
};

struct schema_element {
	int32_t type, type_length, repetition, n_children, converted, scale, precision;
	int32_t field_id; /* -1: none */
	struct thrift_bytes name;
	struct logical logical;
};

struct statistics {
	struct thrift_bytes min, max; /* data NULL: absent */
	int64_t null_count;           /* -1: not known */
};

struct column_chunk {
	bool encrypted, in_other_file;
	int32_t type, codec;
	int64_t n_values, uncompressed, compressed;
	int64_t data_page, dictionary_page; /* offsets; dictionary_page <= 0: none */
	int64_t column_index, offset_index; /* offsets; 0: none */
	int32_t column_index_length, offset_index_length;
	struct statistics statistics;
};

struct row_group {
	struct thrift_list columns; /* struct column_chunk */
	int64_t n_rows;
};

struct footer {
	int32_t version;
	int64_t n_rows;
	bool encrypted;            /* columns may be; the footer is not */
	bool ordered;              /* the footer declares the order of min and max */
	struct thrift_list schema; /* struct schema_element */
	struct thrift_list groups; /* struct row_group */
	struct thrift_bytes created_by;
};

enum page_type { PAGE_DATA, PAGE_INDEX, PAGE_DICTIONARY, PAGE_DATA_V2 };

enum encoding {
	ENC_PLAIN = 0,
	ENC_PLAIN_DICTIONARY = 2,
	ENC_RLE = 3,
	ENC_BIT_PACKED = 4,
	ENC_DELTA_BINARY_PACKED = 5,
	ENC_DELTA_LENGTH = 6,
	ENC_DELTA_BYTE_ARRAY = 7,
	ENC_DICTIONARY = 8,
	ENC_BYTE_STREAM_SPLIT = 9,
	ENC_N,
};

struct page_header {
	int32_t type, uncompressed, compressed;
	int64_t crc; /* as 32 bits with a sign; INT64_MIN: none */
	int32_t n_values, encoding, def_encoding, rep_encoding; /* -1: absent */
	int32_t n_nulls, n_rows, def_bytes, rep_bytes;          /* of v2 */
	bool is_compressed;
};

/* Bytes between the data and the footer's length. Strings point into `bytes`. */
MUST_CHECK int footer_read(struct footer *ret, const void *bytes, size_t len,
			   struct budget *budget, struct arena *arena, struct error *err);

/* Read the header at *p and advance *p. */
MUST_CHECK int page_header_read(struct page_header *ret, const uint8_t **p,
				const uint8_t *end, struct error *err);

#endif
