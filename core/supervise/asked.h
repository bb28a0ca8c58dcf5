/*
 * asked.h - signals that ask a supervisor to stop, also while its run directory is opened.
 */
#ifndef SUPERVISE_ASKED_H
#define SUPERVISE_ASKED_H

#include "supervise/run.h"

int asked_next(int signals);    /* of a signalfd: the number of the next one; 0: none */
bool asked_to_stop(int signal); /* TERM, INT or QUIT */
bool asked_pending(void);       /* one of these is, in a process that blocks them */

/*
 * Call keeper->open, which may wait for a server. A signal to stop, in *early before the
 * call or then, leaves it two seconds, and ends it with ERR_STOPPED.
 */
MUST_CHECK int asked_open(const struct supervise_keeper *keeper, int signals, int *early,
			  int *ret_fd, struct error *err);

/*
 * A status of wait(2) as a shell has it, of a command that got `signal` (0: none). After
 * TERM, 0 and 1 are as the end by TERM: a script that saves and leaves has not trained to
 * its end, and the Job would never start this rank again; torchrun ends by an exception,
 * for which the Job would fail.
 */
int asked_code(int status, int signal);

/*
 * Of the same: 128 + signal if the signal has ended the command and processes of it are
 * left, as of a shell's script: they get the signal. Else 0.
 */
int asked_pass_on(int status, int signal);

#endif
