/*
 * children.h - the child processes of this process.
 */
#ifndef BASE_CHILDREN_H
#define BASE_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Send a signal to all child processes but those for which skip(), unless NULL, is true;
 * returns the number of all.
 */
int children_signal(int signum, bool (*skip)(void *ctx, pid_t pid), void *ctx);

#endif
