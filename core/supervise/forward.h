/*
 * forward.h - send a supervisor's reports to the job's status server (private to
 * core/supervise).
 *
 * A thread sends them, one at a time. Reports are states, not a log: the newest of each kind
 * replaces one that is not sent yet. While the server cannot be reached, or answers 429 or
 * 5xx, the newest is kept and sent again after at most half a minute.
 */
#ifndef SUPERVISE_FORWARD_H
#define SUPERVISE_FORWARD_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

enum { FORWARD_WAIT_MS = 2000 };

enum forward_kind {
	FORWARD_PROGRESS, /* of the command */
	FORWARD_SELF,     /* of the supervisor */
	FORWARD_KINDS,
};

struct forward;
/*
 * The values of KUBEFLOW_TRAINER_SERVER_URL, _CA_CERT (NULL: the system's) and _TOKEN, which
 * are copied. The files are read for each request, because they are renewed.
 */
MUST_CHECK int forward_start(struct forward **ret, const char *url, const char *ca_file,
			     const char *token_file, struct error *err);
/* Queue a body, without waiting. */
void forward_put(struct forward *f, enum forward_kind kind, const char *body, size_t len);
/*
 * The same for FORWARD_PROGRESS, and wait for the answer. False: none within FORWARD_WAIT_MS,
 * or the server is known to be unreachable, or a newer report has replaced this one.
 */
bool forward_ask(struct forward *f, const char *body, size_t len, int *ret_status,
		 struct buf *ret_body);
/* End the thread after a last try to send what is kept, and free. NULL is fine. */
void forward_stop(struct forward *f);

#endif
