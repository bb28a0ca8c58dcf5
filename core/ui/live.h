/*
 * live.h - serves what the page's script reads: a stream of server-sent events (WHATWG
 * HTML, 9.2) per viewer, and whole logs.
 *
 *     GET /stream?rows=1&label=SELECTOR      list: rows that changed
 *                 job=NAMESPACE/NAME         one job: what its page shows
 *                 plot=NS/NAME,NS/NAME       points of the metrics of jobs
 *                 log=node-0,node-1&lines=N  the log of `job`; log=*: of all
 *                 after=ID                   as Last-Event-ID
 *     GET /log?job=NAMESPACE/NAME            the whole log, as a file
 *     GET /arrived?after=ID                  the viewer has the log up to there: 204
 *
 * Events, all with data in JSON and the id VERSION.TAIL.LINE: rows and points (board.h), past
 * (["ns/name",TEXT]: why what the job has reported before cannot be read),
 * job (job.h), log {"first":bool,"lines":[...]} (tail.h), end (of the log), lost (why the
 * API server is not watched, or null), mark (of a version). After an id that is too old,
 * `rows` is full, points replace, and the log begins again with `first`. At most TAIL_BYTES of
 * a log are sent that the viewer has not acknowledged (tail.h).
 */
#ifndef UI_LIVE_H
#define UI_LIVE_H

#include "kube/kube.h"
#include "net/httpd.h"

enum { LIVE_STREAMS = 16 }; /* at a time; for another the oldest is cut */

struct board;
struct live;

struct ui_conf;
/* `conf` outlives it. */
MUST_CHECK int live_start(struct live **ret, const struct ui_conf *conf,
			  struct error *err);
void live_stop(struct live *l); /* streams end; then httpd_stop(), then live_free() */
void live_free(struct live *l);
void live_tick(struct live *l); /* once a second */
bool live_busy(struct live *l); /* is there a viewer? */
struct board *live_board(struct live *l);

/* Answer the request if it is one of those above. */
bool live_handle(struct live *l, const struct httpd_request *req,
		 struct httpd_response *resp);

#endif
