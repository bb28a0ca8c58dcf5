/*
 * logcause.h - recognize the causes of failures in log lines.
 *
 * The texts are those of NCCL, gloo, PyTorch, CUDA, DeepSpeed, JAX, XGBoost, MPI,
 * Hugging Face's libraries, Python and the C library. A hint states only what the line
 * proves; other possible reasons are worded as advice.
 */
#ifndef LOGTEXT_LOGCAUSE_H
#define LOGTEXT_LOGCAUSE_H

#include <stdbool.h>

#include "base/buf.h"

enum log_side {
	LOG_OWN,  /* a failure of the process itself */
	LOG_PEER, /* also written by ranks whose peer has failed */
	LOG_NAME, /* about a host name, which may be a peer's */
	LOG_PORT, /* a failure of the process itself: its port is in use */
};

struct log_cause {
	const char *text; /* a part of the line */
	unsigned char at; /* offset of a rare character of `text`, for the search */
	char until; /* %s of the hint is what follows, up to this ('\n': or to the end);
		       0: no %s */
	const char *hint; /* NULL: nothing is wrong */
	enum log_side side;
	bool general; /* NCCL's last error, before or after it, says more */
};

enum { LOG_CAUSES_MAX = 384, LOG_WORD_MAX = 160 };

/* Reads a log line by line. */
struct log_reader {
	const struct log_cause *cause; /* the best explanation so far; or NULL */
	char word[LOG_WORD_MAX];       /* for %s of its hint */
	bool last_error;               /* the next line is NCCL's last error */
	bool in_last_error;            /* the cause is in NCCL's last error */
	bool warned;                   /* the cause is in a warning of NCCL */
	bool indexed;
	unsigned short first[256], next[LOG_CAUSES_MAX]; /* rows + 1, by character `at` */
	unsigned behind[256]; /* by the same: follow_bit() of those that follow it */
};

/*
 * The cause in the line, or NULL. If it explains at least as much as r->cause (a lower
 * address does), or if it is NCCL's last error and r->cause was in a warning of NCCL, it
 * replaces that, and *ret_better is set.
 */
const struct log_cause *log_read(struct log_reader *r, const char *line, size_t len,
				 bool *ret_better);
/* Forget r->cause. */
void log_forget(struct log_reader *r);
/* The hint of r->cause. */
void log_hint(struct buf *out, const struct log_reader *r);

/*
 * True for the last line of a Python traceback, "ValueError: boom", but not for a
 * launcher's report of other processes.
 */
bool log_is_exception(const char *line, size_t len);

#endif
