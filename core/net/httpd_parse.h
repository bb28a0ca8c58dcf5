/*
 * httpd_parse.h - the syntax of requests (RFC 9112), from bytes a peer chose.
 * Private to core/net/httpd*.c.
 *
 * Functions return 0, or the status to refuse the request with. After a refusal
 * nothing more of the connection can be understood.
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
 * Where the head at data ends, behind its empty line, in *ret_end; 0 as long as it
 * has not all come. *scanned: how much was looked at before; begin with 0.
 */
int httpd_find_head(const char *data, size_t len, size_t *scanned, size_t *ret_end);

struct httpd_head {
	struct httpd_request req; /* method, path, query, content_length, headers */
	struct httpd_header headers[HTTPD_MAX_HEADERS + 1];
	size_t n_headers;
	bool http_1_0, keep_alive, chunked, expect_continue;
};

/* A head as found, with its empty line; its bytes become the strings of *ret. */
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

/* A body in chunks, as it comes. `{ 0 }` before the first byte. */
struct httpd_chunks {
	enum httpd_chunk_state state;
	size_t left;   /* of this chunk's data */
	size_t line;   /* bytes of this line */
	size_t digits; /* of its size */
	size_t extra;  /* bytes of extensions and trailers so far */
	bool last;
};

/*
 * Takes *ret_used of the bytes and adds what they carry to `body`; a body past its
 * maximum is 413. It has all come when state is CHUNK_DONE.
 */
int httpd_chunks_add(struct httpd_chunks *c, const char *data, size_t len,
		     size_t *ret_used, struct buf *body);

const char *httpd_reason(int status); /* "Not Found"; "" for one without a name */

#endif
