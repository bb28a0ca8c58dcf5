/*
 * room.h - how much memory this process may still take: of its control group's limit
 * (version 2), and of the machine.
 */
#ifndef CACHE_ROOM_H
#define CACHE_ROOM_H

#include <stdint.h>

uint64_t room_left(void); /* bytes; UINT64_MAX: not known */

#endif
