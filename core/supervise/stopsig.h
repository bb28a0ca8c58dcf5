/*
 * stopsig.h - the signals that stop a supervisor: TERM, INT and QUIT.
 */
#ifndef SUPERVISE_STOPSIG_H
#define SUPERVISE_STOPSIG_H

#include "supervise/run.h"

int stopsig_next(int signals);    /* read the next signal of a signalfd; 0: none */
bool stopsig_is_stop(int signal); /* is it one of the three? */
bool stopsig_pending(void);       /* is one pending, in a process that blocks them? */

/*
 * Call rundir->open, which may wait for a server. If a stop signal is in *early, or arrives
 * meanwhile and is stored there, the call has two more seconds and then ends with
 * ERR_STOPPED.
 */
MUST_CHECK int stopsig_open_rundir(const struct supervise_rundir *rundir, int signals,
				   int *early, int *ret_fd, struct error *err);

/*
 * The exit code, as in sh(1), for a status of wait(2) of a command that got `signal` (0:
 * none). After TERM, the exit codes 0 and 1 become 128 + TERM: a script that saves and exits
 * with 0 has not finished training, and its Job would not start this rank again; torchrun
 * exits with 1, for which the Job would fail.
 */
int stopsig_exit_code(int status, int signal);

/*
 * If `signal` has ended the command and processes of it remain, as those of a shell script,
 * send them the signal and return 128 + signal. Else 0.
 */
int stopsig_forward(int status, int signal);

#endif
