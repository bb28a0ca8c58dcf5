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

/*
 * The same without waiting, for who makes many calls at once: where the handler's stream
 * would wait for more, httpd_listens() is false, and it is called again by the next step.
 * So it must end at once then, and have asked only if there may be more.
 *
 * What server and req point to must last until the call is closed.
 */
struct inside_call;
struct inside_call *inside_open(const struct inside_server *server,
				const struct http_request *req);
/* 1: that is all for now; 0: the end, and *ret is filled; -1: failed. */
MUST_CHECK int inside_step(struct inside_call *call, struct http_response *ret,
			   struct error *err);
void inside_close(struct inside_call *call);

#endif
