/* zip.c - compresses bodies. */
#include "ui/zip.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/xmalloc.h"

enum { SMALL = 1024, LEVEL = 6, FAST = 1, LARGE = 128 << 10, GZIP = 15 + 16, MEMORY = 8 };

void zip_body(const struct httpd_request *req, struct httpd_response *resp)
{
	const char *accepts = httpd_header(req, "Accept-Encoding");
	struct buf *body = &resp->body, zipped = { .max = body->max };
	z_stream z = { .next_in = body->data, .avail_in = (uInt)body->len };
	const char *gzip = accepts ? strstr(accepts, "gzip") : NULL;
	int level = body->len > LARGE ? FAST : LEVEL;
	double q = 1;

	if (gzip)
		(void)sscanf(gzip, "gzip ; q=%lf", &q);

	if (resp->stream || body->len < SMALL || !gzip || q <= 0 ||
	    deflateInit2(&z, level, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return;
	zipped.cap = deflateBound(&z, body->len) + 1;
	zipped.data = xmalloc(zipped.cap);
	z.next_out = zipped.data;
	z.avail_out = (uInt)zipped.cap - 1;
	if (zipped.cap <= zipped.max && deflate(&z, Z_FINISH) == Z_STREAM_END) {
		zipped.len = z.total_out;
		buf_release(body);
		*body = zipped;
		buf_adds(&resp->headers, "Content-Encoding: gzip\r\n");
	} else {
		buf_release(&zipped);
	}
	deflateEnd(&z);
}
