/*
 * httpd_parse.h - parse HTTP requests (RFC 9112), safely for any bytes. Private to
 * core/net/httpd*.c.
 *
 * Functions return 0, or the status with which to refuse the request; the connection must
 * then be closed.
 */
#ifndef NET_HTTPD_PARSE_H
#define NET_HTTPD_PARSE_H

#include "net/httpd.h"

enum {
	HTTPD_MAX_LINE = 8 * 1024,  /* the request's first line */
	HTTPD_MAX_HEAD = 16 * 1024, /* with its empty line */
	HTTPD_MAX_HEADERS = 100,
	HTTPD_MAX_CHUNK_LINE = 256,        /* a chunk's size and extensions */
	HTTPD_MAX_CHUNK_EXTRA = 16 * 1024, /* extensions and trailers of one body */
};

/*
 * *ret_end: the end of the head at data, after its empty line; 0 while it is incomplete.
 * *scanned: bytes already searched; begin with 0.
 */
int httpd_find_head(const char *data, size_t len, size_t *scanned, size_t *ret_end);

struct httpd_head {
	struct httpd_request req; /* method, path, query, content_length, headers */
	struct httpd_header headers[HTTPD_MAX_HEADERS + 1];
	size_t n_headers;
	const char *authority; /* of "http://host/": Host is that (RFC 9112, 3.2.2) */
	bool http_1_0, keep_alive, chunked, expect_continue;
};

/* Parse a complete head with its empty line. Strings of *ret point into data. */
int httpd_parse_head(struct httpd_head *ret, char *data, size_t len);

enum httpd_chunk_state {
	CHUNK_SIZE,
	CHUNK_EXTENSION,
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	CHUNK_TRAILER_START, /* of a line */
	CHUNK_TRAILER,
	CHUNK_TRAILER_LF,
	CHUNK_LAST_LF,
	CHUNK_DONE,
};

/* The state of a chunked body. { 0 } before the first byte. */
struct httpd_chunks {
	enum httpd_chunk_state state;
	size_t left;   /* bytes of this chunk's data to come */
	size_t line;   /* bytes of this line */
	size_t digits; /* digits of the chunk's size */
	size_t extra;  /* bytes of extensions and trailers so far */
	bool last;
};

/*
 * Decode *ret_used of the bytes and append their data to `body`; 413 if it exceeds its
 * maximum. The body is complete in state CHUNK_DONE.
 */
int httpd_chunks_add(struct httpd_chunks *c, const char *data, size_t len,
		     size_t *ret_used, struct buf *body);

const char *httpd_reason(int status); /* "Not Found"; "" for one without a name */

#endif
