/*
 * commandrules.h - the words of a container that its program or its shell does not read as
 * they are meant: the container runs, and does something else.
 *
 * What can be meant so is left alone: without a command the program is the image's.
 */
#ifndef TRAINER_COMMANDRULES_H
#define TRAINER_COMMANDRULES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* Is the program a shell that takes -c, as "bash", "/bin/sh"? NULL: no. */
bool command_is_shell(const char *word);

/* The options of a shell, as in "sh -euo pipefail -c TEXT". */
struct shell_options {
	bool code;     /* -c */
	bool pipefail; /* -o pipefail */
	size_t next;   /* the word behind them: the text of -c, or a file; n: none */
};

/* Words as of command_fault_find(); the first is the shell. */
struct shell_options shell_options_read(const char *const *words, size_t n);

struct command_fault {
	size_t word; /* where it is */
	const char *text;
};

/*
 * The first fault in the words of `command` and, behind them, `args`; its text is in the
 * arena or static. False: none. Words may be NULL, as for elements that are no strings.
 */
bool command_fault_find(struct arena *arena, const char *const *words, size_t n,
			struct command_fault *ret);

/*
 * The first variable of a shell, "$PATH" or "${HOME}/x", of a value of env, where it is all
 * of the value or of one of its parts between colons; in the arena. NULL: none.
 */
const char *command_variable_in(struct arena *arena, const char *value);

#endif
