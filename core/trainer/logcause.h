/*
 * logcause.h - what a line that a rank wrote says about why it failed.
 *
 * The texts are PyTorch's, NCCL's, gloo's, Python's and the C library's.
 */
#ifndef TRAINER_LOGCAUSE_H
#define TRAINER_LOGCAUSE_H

#include <stdbool.h>

#include "base/buf.h"

struct log_cause {
	const char *text; /* in the line */
	char until;       /* what follows, up to this, is %s of the hint; 0: nothing */
	const char *hint;
	bool peer; /* so ends a rank whose peer has failed, too */
};

/*
 * What the line gives away, or NULL. Of two, the one at the lower address explains
 * more. *ret_word, *ret_len: what fills %s of the hint, within the line.
 */
const struct log_cause *log_cause_of(const char *line, size_t len, const char **ret_word,
				     size_t *ret_len);
void log_cause_hint(struct buf *out, const struct log_cause *c, const char *word);

/* "ValueError: boom", as Python ends a traceback; not what a launcher says of others. */
bool log_is_exception(const char *line, size_t len);

#endif
