/*
 * star_dial.h - connect to the hub in a second thread, as a name lookup blocks (private
 * to core/supervise).
 */
#ifndef SUPERVISE_STAR_DIAL_H
#define SUPERVISE_STAR_DIAL_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"

struct star_dial {
	const char *host;
	int port;
	int done; /* an eventfd: readable once a try has ended */
	bool going;
	pthread_t thread;
	int fd; /* of the connection; -1: err says why there is none */
	struct error err;
};

MUST_CHECK int star_dial_init(struct star_dial *d, const char *host, int port,
			      struct error *err);
/* One try. Until star_dial_ended(), only it may use d. */
void star_dial_start(struct star_dial *d);
/* False: it goes on. True: *ret_fd is the connection, the caller's, or -1: d->err. */
bool star_dial_ended(struct star_dial *d, int *ret_fd);

#endif
