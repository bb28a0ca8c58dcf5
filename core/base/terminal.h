/*
 * terminal.h - the terminal behind a descriptor.
 */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

int terminal_columns(int fd); /* 0: no terminal, or one that does not say */

#endif
