/*
 * children.h - the child processes of this process.
 */
#ifndef BASE_CHILDREN_H
#define BASE_CHILDREN_H

/* Send a signal to all child processes; returns their number. */
int children_signal(int signum);

#endif
