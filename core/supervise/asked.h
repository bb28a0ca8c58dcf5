/*
 * asked.h - signals that ask a supervisor to stop, also while its run directory is opened.
 */
#ifndef SUPERVISE_ASKED_H
#define SUPERVISE_ASKED_H

#include "supervise/run.h"

int asked_next(int signals); /* of a signalfd: the number of the next one; 0: none */
bool asked_to_stop(int signal);

/*
 * keeper->open, which may wait for a server. *early, if not 0, is such a signal; one that
 * comes leaves it a moment, then ends it with ERR_STOPPED.
 */
MUST_CHECK int asked_open(const struct supervise_keeper *keeper, int signals, int *early,
			  int *ret_fd, struct error *err);

#endif
