/*
 * spawn.h - the signals of a program that posix_spawn(3) starts.
 */
#ifndef BASE_SPAWN_H
#define BASE_SPAWN_H

#include <spawn.h>

enum spawn_signals {
	/* What our caller ignores (nohup(1)) stays ignored; SIGPIPE, which stop_setup()
	 * ignores, does not. */
	SPAWN_INHERIT,
	/* None is ignored, as a container's first process begins. */
	SPAWN_RESET,
};

/*
 * Initialize attr for a program with no signal blocked. flags: further ones of
 * posix_spawnattr_setflags(3). The caller destroys attr.
 */
void spawn_attr(posix_spawnattr_t *attr, enum spawn_signals signals, short flags);

#endif
