/*
 * ipc_format.h - the constants of Arrow's messages, for ipc_*.c.
 */
#ifndef ARROW_IPC_FORMAT_H
#define ARROW_IPC_FORMAT_H

#include "arrow/flat.h"

enum ipc_type { /* union Type */
		TYPE_NULL = 1,
		TYPE_INT,
		TYPE_FLOAT,
		TYPE_BINARY,
		TYPE_UTF8,
		TYPE_BOOL,
		TYPE_DECIMAL,
		TYPE_DATE,
		TYPE_TIME,
		TYPE_TIMESTAMP,
		TYPE_LIST = 12,
		TYPE_STRUCT,
		TYPE_FIXED = 15,
		TYPE_MAP = 17,
		TYPE_LARGE_BINARY = 19,
		TYPE_UTF8_VIEW = 24,
};

enum { HEADER_SCHEMA = 1, HEADER_BATCH = 3, IPC_V5 = 4, IPC_ALIGN = 64 };

enum { BODY_LZ4_FRAME, BODY_ZSTD }; /* CompressionType of BodyCompression */

struct ipc_node {
	int64_t n, n_null;
};

struct ipc_buffer {
	int64_t offset, len;
};

/* A buffer of the body: `len` bytes, of n values from `first` on. */
struct ipc_part {
	enum { COPY, BITS, OFFSETS, WIDE_OFFSETS } how;
	const uint8_t *from;
	int64_t first, n;
	uint64_t at, len;
};

/* Write the metadata of a record batch from the plan's parts and nodes. */
struct ipc_plan;
void ipc_plan_metadata(struct ipc_plan *p);

/* The table Message around a header. */
uint32_t ipc_message(struct flat *f, int type, uint32_t header, uint64_t body);

#endif
