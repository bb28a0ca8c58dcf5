/*
 * inside.h - calls to a server of this process: http_do() without a socket.
 *
 * The handler (httpd.h) runs in the caller's thread. A body in pieces is on_data's piece by
 * piece: httpd_send() returns when it has been taken, so that the reader sets the pace.
 */
#ifndef NET_INSIDE_H
#define NET_INSIDE_H

#include "net/http.h"
#include "net/httpd.h"

struct inside_server {
	void (*handle)(void *ctx, const struct httpd_request *req,
		       struct httpd_response *resp);
	void *ctx;
	void (*release)(void *ctx); /* by who was given the server; or NULL */
	bool after_stop;            /* calls go on when the process is asked to stop */
};

/*
 * As http_do(), with the same answers and errors. req->url is a path with its query;
 * read(), idle_ms and cancel_fd have no meaning here.
 */
MUST_CHECK int inside_do(const struct inside_server *server,
			 const struct http_request *req, struct http_response *ret,
			 struct error *err);

#endif
