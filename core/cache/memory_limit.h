/*
 * memory_limit.h - compute the memory that this process may still use, from the limits of
 * its control groups (version 2) and the machine's free memory.
 */
#ifndef CACHE_MEMORY_LIMIT_H
#define CACHE_MEMORY_LIMIT_H

#include <stdint.h>

uint64_t memory_limit_left(void); /* bytes; UINT64_MAX: not known */

#endif
