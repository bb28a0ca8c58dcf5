/*
 * permanent.h - would a command that failed fail so again?
 */
#ifndef SUPERVISE_PERMANENT_H
#define SUPERVISE_PERMANENT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * `text`: the last output. True if the last exception of Python in it is of the program's
 * text or of a module that is missing: SyntaxError, IndentationError, ImportError,
 * ModuleNotFoundError. What torchrun says of its ranks does not count.
 */
bool permanent_cause(const char *text, size_t len);

#endif
