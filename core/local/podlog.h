/*
 * podlog.h - the log of a container of this machine's API, from the files of its run
 * (output.h): NODE_LOGS_ANNOTATION says where.
 */
#ifndef LOCAL_PODLOG_H
#define LOCAL_PODLOG_H

#include "apiserver/apiserver.h"

/*
 * Makes resp send it, piece by piece; with `follow` until the container has ended. Each
 * (re)start of a container has a log of its own. A line is as old as its first byte.
 */
MUST_CHECK int podlog_open(struct apiserver *api, const cJSON *pod,
			   const struct log_options *o, struct httpd_response *resp,
			   struct error *err);

#endif
