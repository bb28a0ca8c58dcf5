/*
 * terminal.h - the terminal behind a descriptor.
 */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

/* 0: no terminal, or one that does not say. */
int terminal_columns(int fd);
int terminal_rows(int fd);

#endif
