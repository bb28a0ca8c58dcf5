/*
 * podlog.h - answers pods/log of this machine's API from the log files of a run
 * (output.h), in the directory that NODE_LOGS_ANNOTATION names.
 */
#ifndef KUBELET_PODLOG_H
#define KUBELET_PODLOG_H

#include "apiserver/apiserver.h"

/*
 * Makes resp stream the log; with `follow`, until the container has ended. Each (re)start
 * of a container has a log of its own. A line's time is that of its first byte. 410: the
 * file was removed.
 */
MUST_CHECK int podlog_open(struct apiserver *api, const cJSON *pod,
			   const struct log_options *o, struct httpd_response *resp,
			   struct error *err);

#endif
