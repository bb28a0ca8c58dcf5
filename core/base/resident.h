/*
 * resident.h - give back memory of the program's file.
 */
#ifndef BASE_RESIDENT_H
#define BASE_RESIDENT_H

/*
 * Unmap the pages of code and constants that were read until now; those that are used again
 * come back from the page cache, 64 KiB at a time. For a process that mostly waits.
 */
void resident_drop(void);

#endif
