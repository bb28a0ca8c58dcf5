/*
 * star_dial.h - connect to the hub in a second thread, because resolving a name blocks
 * (private to core/supervise).
 */
#ifndef SUPERVISE_STAR_DIAL_H
#define SUPERVISE_STAR_DIAL_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"

struct star_dial {
	const char *host;
	int port;
	int done; /* an eventfd: readable when a try has ended */
	bool going;
	pthread_t thread;
	int fd; /* the connection; -1: see err */
	struct error err;
};

MUST_CHECK int star_dial_init(struct star_dial *d, const char *host, int port,
			      struct error *err);
/* Start one try. Until star_dial_ended(), the caller must not use d otherwise. */
void star_dial_start(struct star_dial *d);
/* False: the try goes on. True: the caller owns *ret_fd, or it is -1: see d->err. */
bool star_dial_ended(struct star_dial *d, int *ret_fd);

#endif
