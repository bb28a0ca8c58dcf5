/*
 * inside.h - call a server in this process, as http_do() without a socket.
 *
 * The handler (httpd.h) runs in the caller's thread. Pieces of a streamed body are passed
 * to on_data at once: httpd_send() returns after it.
 */
#ifndef NET_INSIDE_H
#define NET_INSIDE_H

#include "net/http.h"
#include "net/httpd.h"

struct inside_server {
	void (*handle)(void *ctx, const struct httpd_request *req,
		       struct httpd_response *resp);
	void *ctx;
	void (*release)(void *ctx); /* called by the owner of this struct; or NULL */
	/*
	 * Bodies may be documents: http_request.doc, which handle() only borrows, and
	 * http_response.doc, if the caller has no on_data.
	 */
	bool documents;
	bool after_stop; /* calls continue when the process is asked to stop */
};

/*
 * As http_do(), with the same answers and errors. req->url is a path with its query;
 * read(), idle_ms and cancel_fd are ignored.
 */
MUST_CHECK int inside_do(const struct inside_server *server,
			 const struct http_request *req, struct http_response *ret,
			 struct error *err);

/*
 * The same without blocking, for many calls at once. When the handler's stream function
 * would wait for more data, it must call httpd_listens(), get false and return; the next
 * step calls it again. It may only call httpd_listens() if there may be more data.
 *
 * Everything that server and req point to must live until the call is closed.
 */
struct inside_call;
struct inside_call *inside_open(const struct inside_server *server,
				const struct http_request *req);
/* Run the handler. 1: no more data for now; 0: the end, *ret is filled; -1: failed. */
MUST_CHECK int inside_step(struct inside_call *call, struct http_response *ret,
			   struct error *err);
void inside_close(struct inside_call *call);

#endif
