/* spawn.c - set the signals of a program to start (base/spawn.h). */
#include "base/spawn.h"

#include <signal.h>

void spawn_attr(posix_spawnattr_t *attr, enum spawn_signals signals, short flags)
{
	sigset_t normal, none;

	sigemptyset(&none);
	if (signals == SPAWN_RESET) {
		sigfillset(&normal);
	} else {
		sigemptyset(&normal);
		sigaddset(&normal, SIGPIPE);
	}
	posix_spawnattr_init(attr);
	posix_spawnattr_setflags(
		attr, (short)(flags | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
	posix_spawnattr_setsigdefault(attr, &normal);
	posix_spawnattr_setsigmask(attr, &none);
}
