/*
 * logcause.h - recognize the causes of failures in log lines.
 *
 * The texts are PyTorch's, NCCL's, gloo's, Python's and the C library's.
 */
#ifndef TRAINER_LOGCAUSE_H
#define TRAINER_LOGCAUSE_H

#include <stdbool.h>

#include "base/buf.h"

struct log_cause {
	const char *text; /* in the line */
	char until;       /* %s of the hint is what follows, up to this; 0: no %s */
	const char *hint;
	bool peer; /* also written by ranks whose peer has failed */
};

/*
 * The cause in a line, or NULL. Of two causes, the one at the lower address explains
 * more. *ret_word, *ret_len: the text for %s of the hint, within the line.
 */
const struct log_cause *log_cause_of(const char *line, size_t len, const char **ret_word,
				     size_t *ret_len);
void log_cause_hint(struct buf *out, const struct log_cause *c, const char *word);

/*
 * Is it the last line of a Python traceback, "ValueError: boom", and not a launcher's
 * report of other processes?
 */
bool log_is_exception(const char *line, size_t len);

#endif
