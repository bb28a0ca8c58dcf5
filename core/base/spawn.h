/*
 * spawn.h - set the signals of a program that posix_spawn(3) starts.
 */
#ifndef BASE_SPAWN_H
#define BASE_SPAWN_H

#include <spawn.h>

enum spawn_signals {
	/*
	 * Signals that our caller ignores (nohup(1)) stay ignored; SIGPIPE, which
	 * stop_setup() ignores, is reset.
	 */
	SPAWN_INHERIT,
	/* No signal is ignored, as for a container's first process. */
	SPAWN_RESET,
};

/*
 * Initialize attr for a program with no signal blocked. flags: further ones of
 * posix_spawnattr_setflags(3). The caller destroys attr.
 */
void spawn_attr(posix_spawnattr_t *attr, enum spawn_signals signals, short flags);

#endif
